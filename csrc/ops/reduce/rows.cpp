#include "ops/reduce/rows.h"

#include <cstring>
#include <type_traits>
#include <utility>

#include "base/vectors.h"
#include "ops/loops.h"

#ifdef OFL_X86_VECTORS
#include <immintrin.h>
#endif

namespace ofl::ops {

namespace {

/// NumPy adds up to so many floats without halving them first.
constexpr int64_t kMostFloats = 128;
constexpr int64_t kLine = 64;
constexpr int kMostHalvings = 64;
/// From here on the vectors of NumPy's loop make up for its call.
constexpr int64_t kMostIntegers = 32;
constexpr int64_t kAccumulators = 8;

/// Bytes ahead of a block that are asked for: some hardware stops at each page, other only loses
/// time by it.
int64_t asked_ahead() { return is_intel() ? 4096 : 0; }

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
  for (; i < n; ++i) sum += load_element<T>(from, i);
  return sum;
}

/// The quarters of n elements, as two steps of NumPy's recursion make them.
struct Quarters {
  explicit Quarters(int64_t n) {
    const int64_t left = half(n);
    length[0] = half(left);
    length[1] = left - length[0];
    length[2] = half(n - left);
    length[3] = n - left - length[2];
  }

  /// What halving leaves on the left.
  static int64_t half(int64_t n) { return n / 2 - n / 2 % kAccumulators; }
  /// The recursion ends with all four, and not before.
  static bool are_leaves(int64_t n) {
    return n <= 4 * kMostFloats && half(n) > kMostFloats &&
           Quarters(n).length[3] <= kMostFloats;  // the longest
  }

  int64_t length[4];
};

/// Leaves that lie anywhere.
template <typename T>
struct FourLeaves {
  const char* from[4];
  int64_t length[4];  // 8 elements or more; none is shorter than the first
};

/// Sums four leaves side by side, as sum_floats() sums each; nullptr where that is no faster.
template <typename T>
using SumFourFn = void (*)(const FourLeaves<T>& leaves, T* sums);

template <typename T, SumFourFn<T> sum_four>
T sum_quarters(const char* from, int64_t n) {
  FourLeaves<T> leaves;
  const Quarters quarters(n);
  for (int k = 0; k < 4; ++k) {
    leaves.from[k] = from;
    leaves.length[k] = quarters.length[k];
    from += quarters.length[k] * static_cast<int64_t>(sizeof(T));
  }
  T sums[4];
  sum_four(leaves, sums);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// Halves until leaves are left, as NumPy's recursion does, and takes four at once where they come
/// so; the halves that still have to be summed are on a stack.
template <typename T, int bytes, SumFourFn<T> sum_four>
T sum_pairwise(const char* from, int64_t n) {
  struct Half {
    int64_t right;  // elements; 0: they are being summed
    T left;
  };
  static const int64_t ahead = asked_ahead();
  Half halves[kMostHalvings];
  for (int depth = 0;;) {
    bool are_four = false;
    for (; n > kMostFloats; ++depth) {
      if constexpr (sum_four != nullptr) are_four = Quarters::are_leaves(n);
      if (are_four) break;
      const int64_t left = Quarters::half(n);
      halves[depth].right = n - left;
      n = left;
    }
    const int64_t block = n * static_cast<int64_t>(sizeof(T));
    for (int64_t i = 0; ahead > 0 && i < block; i += kLine) __builtin_prefetch(from + ahead + i);
    T sum;
    if constexpr (sum_four != nullptr) {
      sum = are_four ? sum_quarters<T, sum_four>(from, n) : sum_floats<T, bytes>(from, n);
    } else {
      sum = sum_floats<T, bytes>(from, n);
    }
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
  for (int64_t i = 0; i < n; ++i) sum += load_element<T>(from, i);
  return sum;
}

void call_loop(const char* row, char* to, int64_t length, const Resolution& resolution) {
  char* data[] = {to, const_cast<char*>(row), to};
  const intptr_t steps[] = {0, static_cast<intptr_t>(size_of(resolution.in[1])), 0};
  const intptr_t count = length;
  resolution.loop(data, &count, steps, resolution.data);
}

/// Adds the sum of row i to its output.
template <typename T>
void put_sum(const ShortRows& rows, int64_t i, T sum, const Resolution& resolution) {
  char* to = rows.out + i * rows.out_step;
  const T total = load_element<T>(to, 0) + sum;
  if (total != total) {  // which NaN of two is kept was its compiler's choice
    call_loop(rows.in + i * rows.in_step, to, rows.length, resolution);
    return;
  }
  std::memcpy(to, &total, sizeof(T));
}

/// Sums as many rows as come in fours, each of them a leaf, and returns how many.
template <typename T, SumFourFn<T> sum_four>
int64_t sum_leaves(const ShortRows& rows, const Resolution& resolution) {
  int64_t i = 0;
  if (rows.length < kAccumulators || rows.length > kMostFloats) return i;
  for (; i + 4 <= rows.count; i += 4) {
    FourLeaves<T> leaves;
    for (int k = 0; k < 4; ++k) {
      leaves.from[k] = rows.in + (i + k) * rows.in_step;
      leaves.length[k] = rows.length;
    }
    T sums[4];
    sum_four(leaves, sums);
    for (int k = 0; k < 4; ++k) put_sum(rows, i + k, sums[k], resolution);
  }
  return i;
}

template <typename T, int bytes, SumFourFn<T> sum_four = nullptr>
void sum_rows(const ShortRows& rows, const Resolution& resolution) {
  int64_t i = 0;
  if constexpr (sum_four != nullptr) i = sum_leaves<T, sum_four>(rows, resolution);
  for (; i < rows.count; ++i) {
    const char* from = rows.in + i * rows.in_step;
    if constexpr (!std::is_floating_point_v<T>) {
      put_sum(rows, i, sum_integers<T>(from, rows.length), resolution);
    } else if (rows.length > kMostFloats) {
      put_sum(rows, i, sum_pairwise<T, bytes, sum_four>(from, rows.length), resolution);
    } else {
      put_sum(rows, i, sum_floats<T, bytes>(from, rows.length), resolution);
    }
  }
}

#ifdef OFL_X86_VECTORS

OFL_AVX2 inline __m256 load_floats(const char* from, int64_t i) {
  return _mm256_loadu_ps(reinterpret_cast<const float*>(from) + i);
}

/// Goes on with elements of a leaf from i on, as far as they come in eights, and returns where it
/// stopped.
OFL_AVX2 inline int64_t add_eights(const char* leaf, int64_t i, int64_t n, __m256* total) {
  for (; i + kAccumulators <= n; i += kAccumulators) {
    *total = _mm256_add_ps(*total, load_floats(leaf, i));
  }
  return i;
}

inline void add_rest(const char* leaf, int64_t i, int64_t n, float* sum) {
  for (; i < n; ++i) *sum += load_element<float>(leaf, i);
}

/// Of float32: an addition that waits for the one before it does not hold up the other three.
/// (Leaves of float64 have two accumulators each, which is enough.)
OFL_AVX2 inline void sum_four_floats(const FourLeaves<float>& leaves, float* sums) {
  const auto& [p, q, r, s] = leaves.from;
  const auto& length = leaves.length;
  __m256 a = load_floats(p, 0), b = load_floats(q, 0);
  __m256 c = load_floats(r, 0), d = load_floats(s, 0);
  int64_t i = kAccumulators;
  for (; i + kAccumulators <= length[0]; i += kAccumulators) {
    a = _mm256_add_ps(a, load_floats(p, i));
    b = _mm256_add_ps(b, load_floats(q, i));
    c = _mm256_add_ps(c, load_floats(r, i));
    d = _mm256_add_ps(d, load_floats(s, i));
  }
  const int64_t j = add_eights(q, i, length[1], &b), k = add_eights(r, i, length[2], &c);
  const int64_t l = add_eights(s, i, length[3], &d);
  // Each across, as sum_floats() does it.
  const __m256 fours = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
  _mm_storeu_ps(sums, _mm_add_ps(_mm256_castps256_ps128(fours), _mm256_extractf128_ps(fours, 1)));
  add_rest(p, i, length[0], &sums[0]);
  add_rest(q, j, length[1], &sums[1]);
  add_rest(r, k, length[2], &sums[2]);
  add_rest(s, l, length[3], &sums[3]);
}

template <typename T>
OFL_AVX2 OFL_FLAT void sum_rows_256(const ShortRows& rows, const Resolution& resolution) {
  if constexpr (std::is_same_v<T, float>) {
    sum_rows<T, 32, sum_four_floats>(rows, resolution);
  } else {
    sum_rows<T, 32>(rows, resolution);
  }
}

template <typename T>
ReduceRowsFn choose() {
  return choose_by_isa<ReduceRowsFn>("reduce_rows", sum_rows<T, 16>, sum_rows_256<T>);
}
#else
template <typename T>
ReduceRowsFn choose() {
  return sum_rows<T, 16>;
}
#endif

template <typename T>
ReduceRowsFn function_here() {
  static const ReduceRowsFn function = choose<T>();
  return function;
}

// --- truths

constexpr int64_t kMostTruths = 64;  // of a row; NumPy's loop looks at longer ones faster

template <typename Word>
uint64_t word_at(const char* from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

/// All bytes of a row of up to 8, some of them several times.
uint64_t bytes_of(const char* row, int64_t length) {
  constexpr uint64_t kEach = 0x0101010101010101;
  if (length == 8) return word_at<uint64_t>(row);
  if (length >= 4) return word_at<uint32_t>(row) | word_at<uint32_t>(row + length - 4) << 32;
  if (length == 1) return word_at<uint8_t>(row) * kEach;
  const uint64_t ends = word_at<uint16_t>(row) | word_at<uint16_t>(row + length - 2) << 16;
  return ends | ends << 32;
}

/// Not zero if a byte of the word is.
uint64_t zeros_of(uint64_t word) {
  constexpr uint64_t kLow = 0x0101010101010101, kHigh = 0x8080808080808080;
  return (word - kLow) & ~word & kHigh;
}

/// Any byte but 0 is true, as NumPy's loops have it.
template <bool is_all>
void join_truths(const ShortRows& rows, const Resolution&) {
  const int64_t length = rows.length;
  const char* row = rows.in;
  char* out = rows.out;
  for (int64_t i = 0; i < rows.count; ++i, row += rows.in_step, out += rows.out_step) {
    uint64_t zeros = 0, bytes = 0;
    const auto add = [&](uint64_t word) { is_all ? zeros |= zeros_of(word) : bytes |= word; };
    add(bytes_of(row, std::min<int64_t>(length, 8)));
    for (int64_t k = 8; k + 8 <= length; k += 8) add(word_at<uint64_t>(row + k));
    if (length > 8) add(word_at<uint64_t>(row + length - 8));
    *out = is_all ? *out != 0 && zeros == 0 : *out != 0 || bytes != 0;
  }
}

/// Whether a loop of two truths asks for both.
bool asks_for_all(const Resolution& resolution) {
  char first = 1, second = 0;
  char* data[] = {&first, &second, &first};
  const intptr_t steps[] = {0, 1, 0}, count = 1;
  resolution.loop(data, &count, steps, resolution.data);
  return first == 0;
}

}  // namespace

ReduceRowsFn truth_rows_function(const Resolution& resolution, int64_t length) {
  if (length < 1 || length > kMostTruths) return nullptr;
  return asks_for_all(resolution) ? join_truths<true> : join_truths<false>;
}

ReduceRowsFn sum_rows_function(DType dtype, int64_t length) {
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
