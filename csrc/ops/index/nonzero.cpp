// Where elements are not zero, and how many.
#include <algorithm>
#include <cstring>

#include "ops/index/places.h"

namespace ofl::ops {

namespace {

/// True elements among n bytes that are 0 or not, eight at a time.
int64_t count_bytes(const char* truth, int64_t n) {
  constexpr uint64_t kLow = 0x7f7f7f7f7f7f7f7f, kOnes = 0x0101010101010101;
  constexpr int64_t kWordsPerSum = 255;  // what a byte can add up
  int64_t count = 0, i = 0;
  while (i + 8 <= n) {
    const int64_t end = std::min(n - 7, i + 8 * kWordsPerSum);
    uint64_t sums = 0;
    for (; i < end; i += 8) {
      uint64_t word;
      std::memcpy(&word, truth + i, sizeof word);
      sums += ((((word & kLow) + kLow) | word) >> 7) & kOnes;
    }
    for (; sums; sums >>= 8) count += static_cast<int64_t>(sums & 0xff);
  }
  for (; i < n; ++i) count += truth[i] != 0;
  return count;
}

/// truth[i] = element i is not zero (NaN is not), by its bits: those of floating-point numbers
/// without the sign.
template <typename Word, int parts, bool has_sign>
void test_elements(const char* from, int64_t stride, char* truth, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    Word bits = 0;
    for (int part = 0; part < parts; ++part) {
      Word word;
      std::memcpy(&word, from + i * stride + part * sizeof(Word), sizeof word);
      bits |= has_sign ? static_cast<Word>(word << 1) : word;
    }
    truth[i] = bits != 0;
  }
}

using TestFn = void (*)(const char* from, int64_t stride, char* truth, int64_t n);

TestFn test_function(DType dtype) {
  switch (dtype) {
    case DType::f16:
    case DType::bf16: return test_elements<uint16_t, 1, true>;
    case DType::f32: return test_elements<uint32_t, 1, true>;
    case DType::f64: return test_elements<uint64_t, 1, true>;
    case DType::c64: return test_elements<uint32_t, 2, true>;
    case DType::c128: return test_elements<uint64_t, 2, true>;
    default: break;
  }
  switch (size_of(dtype)) {
    case 1: return test_elements<uint8_t, 1, false>;
    case 2: return test_elements<uint16_t, 1, false>;
    case 4: return test_elements<uint32_t, 1, false>;
    default: return test_elements<uint64_t, 1, false>;
  }
}

/// Calls body(bytes that are 0 or not, n, index of the first along the last dimension, index of the
/// row) for pieces of rows, of at most `longest` elements.
template <typename Body>
void for_each_piece(const ArrayView& x, int64_t longest, Body&& body) {
  if (element_count(x.shape) == 0) return;
  const int last = x.shape.size() - 1;
  const bool as_it_is = x.dtype == DType::b1 && x.strides[last] == 1;
  const int64_t length = as_it_is ? longest : kPlaces;
  const TestFn test = test_function(x.dtype);
  char truth[kPlaces];
  Dims index(x.shape.size(), 0);
  const char* row = x.data;
  for (;;) {
    for (int64_t start = 0; start < x.shape[last]; start += length) {
      const int64_t n = std::min(length, x.shape[last] - start);
      const char* from = row + start * x.strides[last];
      if (!as_it_is) test(from, x.strides[last], truth, n);
      body(as_it_is ? from : truth, n, start, index);
    }
    int d = last - 1;
    for (; d >= 0; --d) {
      const bool more = ++index[d] < x.shape[d];
      row += (more ? 1 : 1 - x.shape[d]) * x.strides[d];
      if (more) break;
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

void copy_numbers(const int64_t* from, int64_t step, char* to, int64_t stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * stride, from + i * step, sizeof(int64_t));
}

}  // namespace

int64_t count_nonzero(const ArrayView& x) {
  ArrayView merged = x;
  std::vector<Dims> strides{x.strides};
  merge_dims(&merged.shape, &strides);
  merged.strides = strides[0];
  int64_t count = 0;
  for_each_piece(
      merged, merged.shape.back(),
      [&](const char* truth, int64_t n, int64_t, const Dims&) { count += count_bytes(truth, n); });
  return count;
}

int64_t find_nonzero(const char* elements, DType dtype, int64_t n, int64_t* positions) {
  if (dtype == DType::b1) return find_true(elements, 1, n, 0, 1, positions);
  char truth[kPlaces];
  test_function(dtype)(elements, static_cast<int64_t>(size_of(dtype)), truth, n);
  return find_true(truth, 1, n, 0, 1, positions);
}

void count_nonzero_kernel(const ArrayArgs& args) {
  const int64_t count = count_nonzero(args.input(0));
  std::memcpy(args.output(0).data, &count, sizeof count);
}

void nonzero_kernel(const ArrayArgs& args) {
  const ArrayView &x = args.input(0), &out = args.output(0);
  const int last = x.shape.size() - 1;
  const int64_t stride = out.strides[1];
  int64_t found = 0;
  for_each_piece(x, kPlaces, [&](const char* truth, int64_t n, int64_t start, const Dims& index) {
    int64_t positions[kPlaces];
    const int64_t here = find_true(truth, 1, n, start, 1, positions);
    found += here;
    if (found > out.shape[1]) return;
    char* to = out.data + (found - here) * stride;
    for (int d = 0; d < last; ++d)
      copy_numbers(&index[d], 0, to + d * out.strides[0], stride, here);
    copy_numbers(positions, 1, to + last * out.strides[0], stride, here);
  });
  if (found == out.shape[1]) return;
  fail(ErrorKind::runtime, "[", args.name, "] expected ", out.shape[1], " elements, got ", found,
       ": another thread wrote to the tensor");
}

}  // namespace ofl::ops
