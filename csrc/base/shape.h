// Shapes, strides (in bytes) and the arithmetic on them. No memory, no dtype.
#pragma once

#include <cstdint>
#include <string>

#include "base/small_vector.h"

namespace ofl {

inline constexpr int kMaxDims = 32;

using Dims = SmallVector<int64_t, 4>;

/// Some axes of a shape, a bit each.
class AxisSet {
 public:
  AxisSet() = default;
  explicit AxisSet(uint32_t bits) : bits_(bits) {}
  static AxisSet all(int ndim) { return AxisSet(static_cast<uint32_t>((uint64_t{1} << ndim) - 1)); }

  bool has(int axis) const { return bits_ >> axis & 1; }
  void add(int axis) { bits_ |= uint32_t{1} << axis; }
  uint32_t bits() const { return bits_; }

 private:
  static_assert(kMaxDims <= 32);
  uint32_t bits_ = 0;
};

/// Number of elements; Error(value) when it or the byte count `n * itemsize` does not fit in int64.
int64_t count_elements(const Dims& shape, int64_t itemsize, const char* op);

/// Number of elements of a shape that is known to be valid.
inline int64_t element_count(const Dims& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

/// Row-major strides in bytes.
Dims contiguous_strides(const Dims& shape, int64_t itemsize);
/// The same, written to `strides`.
void set_contiguous_strides(const Dims& shape, int64_t itemsize, Dims* strides);

/// True when elements lie row-major without gaps (dimensions of size 1 and empty shapes do not
/// count).
bool is_contiguous(const Dims& shape, const Dims& strides, int64_t itemsize);

/// NumPy broadcasting; Error(value) `[op] shapes (2, 3) and (4,) do not broadcast`.
Dims broadcast_shapes(const Dims& a, const Dims& b, const char* op);

/// Strides of an array of `shape`/`strides` seen as `target` (0 along broadcast dimensions).
/// Error(value) when it does not broadcast.
Dims broadcast_strides(const Dims& shape, const Dims& strides, const Dims& target, const char* op);

/// Strides of a view with `new_shape` over the same elements in row-major order, or false when a
/// copy is needed. Both shapes have the same number of elements.
bool reshape_strides(const Dims& shape, const Dims& strides, const Dims& new_shape,
                     int64_t itemsize, Dims* new_strides);

/// The bytes of elements relative to the first one: [low, high).
struct Extent {
  int64_t low, high;
};
/// Empty (0, 0) for no elements.
Extent extent_of(const Dims& shape, const Dims& strides, int64_t itemsize);

/// True when two different indices address the same byte (a broadcast dimension, say). Conservative
/// for exotic strides: answers true unless sorted strides prove the opposite.
bool may_self_overlap(const Dims& shape, const Dims& strides, int64_t itemsize);

/// "(2, 3)", "(4,)", "()".
std::string shape_str(const Dims& shape);

}  // namespace ofl
