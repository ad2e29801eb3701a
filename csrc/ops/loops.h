// Helpers of the kernels: walking the outer rows of an iteration, and the scratch of a thread.
#pragma once

#include <cstdint>
#include <cstring>

#include "ops/loop_args.h"

namespace ofl::ops {

/// Elements of the buffer of NumPy's iterator. It decides the bits of a sum.
inline constexpr int64_t kNumpyBuffer = 8192;

/// Elements of an operand in one block of a buffered elementwise call: with all operands they stay
/// in the L2 cache.
inline constexpr int64_t kBlock = 2048;

inline constexpr int64_t kMaxItemSize = 16;
inline constexpr int64_t kBlockBytes = kNumpyBuffer * 8;
static_assert(kBlockBytes >= kBlock * kMaxItemSize, "a block of any dtype fits");

/// Memory of the calling thread: a block of every operand, or one buffer of a reduction. A kernel
/// that calls another one must not hold it.
struct Scratch {
  alignas(64) char bytes[kMaxOperands * kBlockBytes];
};
static_assert(sizeof(Scratch) >= kNumpyBuffer * kMaxItemSize, "a reduction's buffer fits");
Scratch& thread_scratch();

/// The i-th of elements beside each other, which need not be aligned.
template <typename T>
T load_element(const char* from, int64_t i) {
  T value;
  std::memcpy(&value, from + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

/// Calls body(pointers) once for every index of rows [0, outer); `pointers` (one per operand) start
/// at `data`. Does nothing when one of these rows is empty.
template <typename Body>
void for_each_row(const Iteration& iteration, int outer, char* const* data, Body&& body) {
  int64_t index[kMaxDims];
  char* pointers[kMaxOperands];
  const int operands = iteration.operands;
  for (int k = 0; k < operands; ++k) pointers[k] = data[k];
  for (int d = 0; d < outer; ++d) {
    if (iteration.rows[d].dim == 0) return;
    index[d] = 0;
  }
  for (;;) {
    body(static_cast<char* const*>(pointers));
    int d = outer - 1;
    for (; d >= 0; --d) {
      const Iteration::Row& row = iteration.rows[d];
      if (++index[d] < row.dim) {
        for (int k = 0; k < operands; ++k) pointers[k] += row.strides[k];
        break;
      }
      for (int k = 0; k < operands; ++k) pointers[k] -= row.strides[k] * (row.dim - 1);
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

/// The innermost row, or one element where there are no rows.
inline const Iteration::Row& inner_row(const Iteration& iteration) {
  static constexpr Iteration::Row kSingle = {1, {}};
  return iteration.ndim > 0 ? iteration.rows[iteration.ndim - 1] : kSingle;
}
inline int outer_rows(const Iteration& iteration) {
  return iteration.ndim > 0 ? iteration.ndim - 1 : 0;
}

inline int64_t iteration_size(const Iteration& iteration) {
  int64_t n = 1;
  for (int d = 0; d < iteration.ndim; ++d) n *= iteration.rows[d].dim;
  return n;
}

}  // namespace ofl::ops
