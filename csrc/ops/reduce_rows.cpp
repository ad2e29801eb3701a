#include "ops/reduce_rows.h"

#include <cstring>
#include <type_traits>
#include <utility>

namespace ofl::ops {

namespace {

/// NumPy adds up to so many floats without halving them first.
constexpr int64_t kMostFloats = 128;
/// Bytes ahead of a block that are asked for: the hardware stops at each page.
constexpr int64_t kAhead = 4096, kLine = 64;
constexpr int kMostHalvings = 64;
/// From here on the vectors of NumPy's loop make up for its call.
constexpr int64_t kMostIntegers = 32;
constexpr int64_t kAccumulators = 8;

template <typename T>
T load(const char* from, int64_t i) {
  T value;
  std::memcpy(&value, from + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

/// In the order of numpy/_core/src/umath/loops_utils.h.src.
template <typename T, int bytes>
T sum_floats(const char* from, int64_t n) {
  T sum = T(-0.0);
  int64_t i = 0;
  if (n >= kAccumulators) {
    typedef T V __attribute__((vector_size(bytes)));
    constexpr int kCount = kAccumulators * sizeof(T) / bytes, kLanes = bytes / sizeof(T);
    V total[kCount], next;
    for (int k = 0; k < kCount; ++k) {
      std::memcpy(&next, from + k * bytes, bytes);
      total[k] = next;
    }
#pragma GCC unroll 1
    for (i = kAccumulators; i + kAccumulators <= n; i += kAccumulators) {
      for (int k = 0; k < kCount; ++k) {
        std::memcpy(&next, from + i * sizeof(T) + k * bytes, bytes);
        total[k] += next;
      }
    }
    T r[kAccumulators];
    for (int k = 0; k < kCount; ++k) {
      for (int lane = 0; lane < kLanes; ++lane) r[k * kLanes + lane] = total[k][lane];
    }
    sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
  }
#pragma GCC unroll 1
  for (; i < n; ++i) sum += load<T>(from, i);
  return sum;
}

/// Halves until blocks of kMostFloats are left, as NumPy's recursion does; the halves that still
/// have to be summed are on a stack.
template <typename T, int bytes>
T sum_pairwise(const char* from, int64_t n) {
  struct Half {
    int64_t right;  // elements; 0: they are being summed
    T left;
  };
  Half halves[kMostHalvings];
  for (int depth = 0;;) {
    for (; n > kMostFloats; ++depth) {
      const int64_t left = n / 2 - n / 2 % kAccumulators;
      halves[depth].right = n - left;
      n = left;
    }
    const int64_t block = n * static_cast<int64_t>(sizeof(T));
    for (int64_t i = 0; i < block; i += kLine) __builtin_prefetch(from + kAhead + i);
    T sum = sum_floats<T, bytes>(from, n);
    from += block;
    while (depth > 0 && halves[depth - 1].right == 0) sum = halves[--depth].left + sum;
    if (depth == 0) return sum;
    halves[depth - 1].left = sum;
    n = std::exchange(halves[depth - 1].right, 0);
  }
}

template <typename T>
T sum_integers(const char* from, int64_t n) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += load<T>(from, i);
  return sum;
}

void call_loop(const char* row, char* to, int64_t length, const Resolution& resolution) {
  char* data[] = {to, const_cast<char*>(row), to};
  const intptr_t steps[] = {0, static_cast<intptr_t>(size_of(resolution.in[1])), 0};
  const intptr_t count = length;
  resolution.loop(data, &count, steps, resolution.data);
}

template <typename T, int bytes>
void sum_rows(const ShortRows& rows, const Resolution& resolution) {
  for (int64_t i = 0; i < rows.count; ++i) {
    const char* from = rows.in + i * rows.in_step;
    char* to = rows.out + i * rows.out_step;
    T total = load<T>(to, 0);
    if constexpr (std::is_floating_point_v<T>) {
      total += rows.length > kMostFloats ? sum_pairwise<T, bytes>(from, rows.length)
                                         : sum_floats<T, bytes>(from, rows.length);
      if (total != total) {  // which NaN of two is kept was its compiler's choice
        call_loop(from, to, rows.length, resolution);
        continue;
      }
    } else {
      total += sum_integers<T>(from, rows.length);
    }
    std::memcpy(to, &total, sizeof(T));
  }
}

#if defined(__x86_64__) && defined(__GNUC__)
template <typename T>
__attribute__((target("avx2"), flatten)) void sum_rows_256(const ShortRows& rows,
                                                           const Resolution& resolution) {
  sum_rows<T, 32>(rows, resolution);
}

template <typename T>
SumRowsFn choose() {
  return __builtin_cpu_supports("avx2") ? sum_rows_256<T> : sum_rows<T, 16>;
}
#else
template <typename T>
SumRowsFn choose() {
  return sum_rows<T, 16>;
}
#endif

template <typename T>
SumRowsFn function_here() {
  static const SumRowsFn function = choose<T>();
  return function;
}

}  // namespace

SumRowsFn sum_rows_function(DType dtype, int64_t length) {
  if (is_integer(dtype) && length > kMostIntegers) return nullptr;
  switch (dtype) {
    case DType::f32: return function_here<float>();
    case DType::f64: return function_here<double>();
    case DType::i64:
    case DType::u64: return function_here<uint64_t>();
    default: return nullptr;
  }
}

}  // namespace ofl::ops
