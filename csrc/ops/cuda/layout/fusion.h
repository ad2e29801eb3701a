// Several operations as one kernel.
#pragma once

#include "ops/cuda/layout/divisor.h"

namespace ofl::layout {

enum : int32 {
  kFusedValues = 12,  // that are or were in memory
  kFusedScalars = 16,
  kFusedRows = 8,
  kFusedReductions = 4,
};

/// A step of a loop over the space.
struct FusedRow {
  int64 dim = 1;
  Divisor divisor = {};
  int64 strides[kFusedValues] = {};  // bytes, of each value
};

/// The one argument of a fused kernel. Dims are outermost first; flat ones need none.
struct FusedArgs {
  int64 count = 0;            // elements
  int32 ndim = 0, outer = 0;  // dims, and how many of them are outside the runs
  FusedRow rows[kFusedRows];
  void* data[kFusedValues] = {};                  // first elements of values that are in memory
  unsigned char scalars[kFusedScalars][16] = {};  // inputs given by value
  // Of reductions only, see layout/reduce.h.
  int64 outputs = 0, reduced = 0;        // elements of an output
  int64 chunks = 1, chunk = 0;           // of an output
  int64 threads = 1;                     // of a row or chunk, or beside each other
  void* values = nullptr;                // what chunks become, [row][chunk] or [chunk][column]
  uint64 inputs[kFusedReductions] = {};  // addresses of what is reduced, or as if: they say where
                                         // vectors begin
};

static_assert(sizeof(FusedArgs) <= kMostParameterBytes);

}  // namespace ofl::layout
