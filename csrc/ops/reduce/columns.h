// Sums of columns: several rows are added at once, so that memory is read in several places at a
// time and what they are added to stays in registers meanwhile.
#pragma once

#include <cstdint>

#include "ops/loop_args.h"

namespace ofl::ops {

/// Rows of `length` elements beside each other, and as many outputs. The step is in bytes.
struct Columns {
  const char* in;
  int64_t in_step;  // from one row to the next
  int64_t rows, length;
  char* out;
};

/// Adds the rows to the outputs, one after the other, with the bits of the resolution's loop,
/// NumPy's.
using SumColumnsFn = void (*)(const Columns& columns, const Resolution& resolution);

/// nullptr where NumPy's loop is to be called.
SumColumnsFn sum_columns_function(DType dtype);

}  // namespace ofl::ops
