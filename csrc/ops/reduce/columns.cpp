#include "ops/reduce/columns.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/vectors.h"
#include "ops/loops.h"

namespace ofl::ops {

namespace {

constexpr int kRows = 8;
/// Of outputs that are worked on together: they stay in the L1 cache.
constexpr int64_t kColumnBytes = 16384;

template <typename T, int rows>
void add_rows(const char* in, int64_t step, int64_t n, T* sums) {
  for (int64_t i = 0; i < n; ++i) {
    T sum = sums[i];
    for (int k = 0; k < rows; ++k) sum = static_cast<T>(sum + load_element<T>(in + k * step, i));
    sums[i] = sum;
  }
}

template <typename T>
bool has_nan(const T* values, int64_t n) {
  bool found = false;
  for (int64_t i = 0; i < n; ++i) found |= values[i] != values[i];
  return found;
}

void call_loop(const Columns& block, const Resolution& resolution) {
  const auto step = static_cast<intptr_t>(size_of(resolution.out));
  const intptr_t steps[] = {step, step, step}, count = block.length;
  for (int64_t row = 0; row < block.rows; ++row) {
    char* data[] = {block.out, const_cast<char*>(block.in + row * block.in_step), block.out};
    resolution.loop(data, &count, steps, resolution.data);
  }
}

/// Elements of `parts` numbers each, which are added one by one.
template <typename T, int parts>
void sum_block(const Columns& block, const Resolution& resolution) {
  T sums[kColumnBytes / sizeof(T)];
  const int64_t n = block.length * parts;
  const size_t bytes = n * sizeof(T);
  std::memcpy(sums, block.out, bytes);
  const char* in = block.in;
  int64_t left = block.rows;
  for (; left >= kRows; left -= kRows, in += kRows * block.in_step) {
    add_rows<T, kRows>(in, block.in_step, n, sums);
  }
  for (; left > 0; --left, in += block.in_step) {
    add_rows<T, 1>(in, block.in_step, n, sums);
  }
  if constexpr (std::is_floating_point_v<T>) {
    // Which NaN of two is kept was its compiler's choice.
    if (has_nan(sums, n)) return call_loop(block, resolution);
  }
  std::memcpy(block.out, sums, bytes);
}

template <typename T, int parts>
void sum_plainly(const Columns& columns, const Resolution& resolution) {
  constexpr int64_t kSize = sizeof(T) * parts, kMost = kColumnBytes / kSize;
  for (int64_t start = 0; start < columns.length; start += kMost) {
    Columns block = columns;
    block.in += start * kSize;
    block.out += start * kSize;
    block.length = std::min(kMost, columns.length - start);
    sum_block<T, parts>(block, resolution);
  }
}

// The same code for the vectors of each CPU: all that it calls is inlined into it.
template <typename T, int parts>
OFL_AVX512 OFL_FLAT void sum_512(const Columns& columns, const Resolution& resolution) {
  sum_plainly<T, parts>(columns, resolution);
}
template <typename T, int parts>
OFL_AVX2 OFL_FLAT void sum_256(const Columns& columns, const Resolution& resolution) {
  sum_plainly<T, parts>(columns, resolution);
}

template <typename T, int parts>
SumColumnsFn choose() {
  return choose_by_isa<SumColumnsFn>("reduce_columns", sum_plainly<T, parts>, sum_256<T, parts>,
                                     sum_512<T, parts>);
}

template <typename T, int parts = 1>
SumColumnsFn function_here() {
  static const SumColumnsFn function = choose<T, parts>();
  return function;
}

}  // namespace

SumColumnsFn sum_columns_function(DType dtype) {
  switch (dtype) {
    case DType::f32: return function_here<float>();
    case DType::f64: return function_here<double>();
    case DType::c64: return function_here<float, 2>();
    case DType::c128: return function_here<double, 2>();
    case DType::i8:
    case DType::u8: return function_here<uint8_t>();
    case DType::i16:
    case DType::u16: return function_here<uint16_t>();
    case DType::i32:
    case DType::u32: return function_here<uint32_t>();
    case DType::i64:
    case DType::u64: return function_here<uint64_t>();
    default: return nullptr;
  }
}

}  // namespace ofl::ops
