// Products of matrices.
#pragma once

#include "ops/cuda/layout/parameters.h"

namespace ofl::layout {

enum : int32 {
  kProductThreads = 256,  // of a block, where its tile does not say otherwise
  kProductDepth = 32,     // of a slice, by tensor cores
  kBatchDims = 8,
};

enum ProductOperand { kOfA, kOfB, kOfOut };

/// out = a @ b, of each matrix of a batch. Steps are bytes, of any sign.
struct ProductArgs {
  void* data[3] = {};       // first elements: a, b, and out
  void* partial = nullptr;  // sums of the parts, [split][batch][m][n]
  int64 m = 0, k = 0, n = 0;
  int64 steps[3][2] = {};      // of a, b and out: from row to row, from column to column
  int64 batch = 1;             // matrices
  int64 splits = 1, part = 0;  // of the sum; each but the last has `part` terms
  int32 vectors[2] = {};       // a, b: 16 bytes at a time can be loaded along what is contiguous
  int32 ndim = 0, unused = 0;
  int64 dims[kBatchDims] = {};  // of the batch, outermost first
  int64 strides[kBatchDims][3] = {};
};

static_assert(sizeof(ProductArgs) <= kMostParameterBytes);

}  // namespace ofl::layout
