// Elementwise operations, copies with casts, fills and `where`.
#pragma once

#include "ops/cuda/layout/divisor.h"

namespace ofl::layout {

enum : int32 {
  kOperands = 4,                       // inputs, then the output
  kFewRows = 8,                        // for which there are shorter arguments than for kMostDims
  kTileSide = 32,                      // elements
  kTileHeight = kThreads / kTileSide,  // rows of a tile that a block's threads have at once
};

/// How the operands lie, where they are not flat: of any strides, with innermost rows that are
/// whole vectors, or in tiles (copies only).
enum ElementwiseForm : int32 { kStrided, kRowsOfVectors, kTiles };

struct ElementwiseHead {
  int64 count = 1;             // of the loop: elements of the output, vectors or tiles
  void* data[kOperands] = {};  // first elements
  int64* fault = nullptr;      // takes an operand that has no result; may be null
  unsigned char scalars[kOperands - 1][16] = {};  // inputs given by value
  int32 ndim = 0;                                 // rows in use
  int32 unused = 0;
};

/// A step of a loop. Most calls need none: a row has no values until it is filled.
struct ElementwiseRow {
  int64 dim;
  int64 strides[kOperands];  // bytes, of each operand
  Divisor divisor;           // by dim
};

/// Rows are outermost first; flat operands need none.
template <int capacity>
struct ElementwiseArgs : ElementwiseHead {
  ElementwiseRow rows[capacity];
};
template <>
struct ElementwiseArgs<0> : ElementwiseHead {};

// The host fills the largest one, of which a kernel takes the beginning.
static_assert(sizeof(ElementwiseArgs<0>) == sizeof(ElementwiseHead));
static_assert(sizeof(ElementwiseArgs<kMostDims>) ==
              sizeof(ElementwiseHead) + kMostDims * sizeof(ElementwiseRow));
static_assert(sizeof(ElementwiseArgs<kMostDims>) <= kMostParameterBytes);

}  // namespace ofl::layout
