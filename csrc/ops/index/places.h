// From index arrays and masks to places: byte offsets into the array that they index, in row-major
// order, some at a time.
#pragma once

#include <functional>
#include <vector>

#include "ops/array_args.h"

namespace ofl::ops {

/// Places that are worked on together: they stay in the L1 cache.
inline constexpr int64_t kPlaces = 1024;

struct Places {
  const int64_t* offsets;
  int64_t n;
  int64_t lined;  // offset into the other array that belongs to the first of them
  int64_t step;   // and how far it is to the next
};
using PlacesBody = std::function<void(const Places&)>;

/// offsets[i] = before[i] (0 for null; may be `offsets`) + stride times the i-th of n int64 values,
/// which may lie anywhere and count from `size` where they are negative. False where one is not
/// below `size`: then the offsets mean nothing.
bool find_offsets(const char* values, int64_t n, int64_t size, int64_t stride,
                  const int64_t* before, int64_t* offsets);

/// An axis with an index array: int64 values become offsets.
struct IndexedAxis {
  int64_t size;
  int64_t stride;
  int64_t number;  // for errors
  OutOfRange mode;
  const char* op;
  ErrorKind error = ErrorKind::index;

  /// offsets[i] = before[i] (0 for null) + where values[i] lies. Error(error) for the first value
  /// out of range.
  void add_offsets(const int64_t* values, int64_t n, const int64_t* before, int64_t* offsets) const;
};

/// The places that index arrays of one shape give together, the k-th along axes[k]. The first
/// strides (at least as many as that shape has dimensions) are those of the other array; `own` (may
/// be null: none) those by which places differ without an index.
void for_each_place(const std::vector<IndexedAxis>& axes, const ArrayView* indices,
                    const Dims& lined, const Dims* own, const PlacesBody& body);

/// The places where the mask is true, of the leading dimensions of `x`. `step`: of the other array.
void for_each_true(const ArrayView& mask, const ArrayView& x, int64_t step, const PlacesBody& body);

/// Writes base + i * step for each true i of a row of n to `out` (room for n); returns how many.
int64_t find_true(const char* mask, int64_t stride, int64_t n, int64_t base, int64_t step,
                  int64_t* out);

/// How many elements are not zero.
int64_t count_nonzero(const ArrayView& x);  // nonzero.cpp

/// The same of up to kPlaces elements that lie together, with their positions.
int64_t find_nonzero(const char* elements, DType dtype, int64_t n, int64_t* positions);

/// Merges neighbouring dimensions over which all arrays step evenly; drops those of size 1. At
/// least one dimension is left.
void merge_dims(Dims* shape, std::vector<Dims>* strides);

}  // namespace ofl::ops
