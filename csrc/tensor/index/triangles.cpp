#include "tensor/index/triangles.h"

#include <algorithm>
#include <cstring>

#include "tensor/index/elements.h"

namespace ofl {

namespace {

constexpr int64_t kManyBytes = int64_t{4} << 20;  // which are read: some hundred microseconds
/// Which are written, in less time than another thread of Python's waits for its turn (5 ms).
constexpr int64_t kLargest = int64_t{16} << 20;

/// The columns of a row that are kept: [first, last).
struct Kept {
  int64_t first, last;
};

Kept kept_of(Places places, int64_t row, int64_t columns, int64_t k) {
  const int64_t at = row + k;
  if (places == Places::above) return {std::clamp<int64_t>(at, 0, columns), columns};
  const int64_t last = std::clamp<int64_t>(at + 1, 0, columns);
  const bool is_there = at >= 0 && at < columns;
  return {places == Places::diagonal ? (is_there ? at : last) : 0, last};
}

/// A diagonal that no matrix of the shape has is as far off as the first of these.
int64_t within(int64_t k, int64_t rows, int64_t columns) {
  return std::clamp<int64_t>(k, -rows - 1, columns + 1);
}

bool make_here(const Issuer& issuer, Device device, DType dtype, const Dims& shape, Tensor* out) {
  vm::DeviceState& state = issuer.machine.state(device);
  if (!may_make_now(issuer.machine, state)) return false;
  const auto itemsize = static_cast<int64_t>(size_of(dtype));
  if (count_elements(shape, itemsize, "tensor") * itemsize > kLargest) return false;
  return make_tensor_now(state, dtype, shape, issuer.site, out);
}

size_t bytes_of(const Tensor& x) { return static_cast<size_t>(x.size()) * size_of(x.dtype); }

void clear(const Tensor& x) {
  if (x.size() > 0) std::memset(x.address(), 0, bytes_of(x));
}

void copy_row(const char* from, int64_t step, size_t width, int64_t n, char* to) {
  if (step == static_cast<int64_t>(width)) {
    std::memcpy(to, from, static_cast<size_t>(n) * width);
    return;
  }
  for (int64_t i = 0; i < n; ++i) copy_element(from + i * step, width, to + i * width);
}

}  // namespace

bool triangle_here(const Issuer& issuer, const Tensor& x, Places places, int64_t k, Tensor* out) {
  const int ndim = x.ndim();
  if (ndim < 2 || !at_hand(issuer.machine, x, kManyBytes)) return false;
  const bool is_dense = x.contiguous();
  if (ndim > 2 && !is_dense) return false;
  if (!make_here(issuer, x.device(), x.dtype, x.shape, out)) return false;
  const int64_t rows = x.shape[ndim - 2], columns = x.shape[ndim - 1];
  const auto width = static_cast<int64_t>(size_of(x.dtype));
  if (x.size() == 0) return true;
  const int64_t row_step = is_dense ? columns * width : x.strides[ndim - 2];
  const int64_t step = is_dense ? width : x.strides[ndim - 1];
  const int64_t diagonal = within(k, rows, columns);
  const char* from = x.address();
  char* to = out->address();
  for (int64_t i = 0; i < x.size() / columns; ++i, from += row_step, to += columns * width) {
    const Kept kept = kept_of(places, i % rows, columns, diagonal);
    std::memset(to, 0, static_cast<size_t>(kept.first * width));
    copy_row(from + kept.first * step, step, size_of(x.dtype), kept.last - kept.first,
             to + kept.first * width);
    std::memset(to + kept.last * width, 0, static_cast<size_t>((columns - kept.last) * width));
  }
  return true;
}

bool matrix_here(const Issuer& issuer, Device device, DType dtype, const Dims& shape, Places places,
                 int64_t k, const Scalar& one, Tensor* out) {
  if (!make_here(issuer, device, dtype, shape, out)) return false;
  const int64_t rows = shape[0], columns = shape[1], diagonal = within(k, rows, columns);
  const size_t width = size_of(dtype);
  const auto row_bytes = columns * static_cast<int64_t>(width);
  if (out->size() == 0) return true;
  if (places == Places::diagonal) clear(*out);
  for (int64_t i = 0; i < rows; ++i) {
    const Kept kept = kept_of(places, i, columns, diagonal);
    char* const row = out->address() + i * row_bytes;
    const auto count = static_cast<size_t>(kept.last - kept.first);
    repeat_element(one, width, count, row + kept.first * static_cast<int64_t>(width));
    if (places == Places::diagonal) continue;
    std::memset(row + kept.last * width, 0, static_cast<size_t>(columns - kept.last) * width);
  }
  return true;
}

bool diagonal_here(const Issuer& issuer, const Tensor& x, int64_t k, Tensor* out) {
  if (x.ndim() != 1 || k < -kManyBytes || k > kManyBytes ||
      !at_hand(issuer.machine, x, kManyBytes)) {
    return false;
  }
  const int64_t n = x.size(), side = n + std::abs(k);
  if (!make_here(issuer, x.device(), x.dtype, {side, side}, out)) {
    return false;
  }
  clear(*out);
  const auto width = static_cast<int64_t>(size_of(x.dtype));
  const char* const from = x.address();
  char* const to = out->address() + (k >= 0 ? k : -k * side) * width;
  const int64_t step = (side + 1) * width;
  for (int64_t i = 0; i < n; ++i) {
    copy_element(from + i * x.strides[0], size_of(x.dtype), to + i * step);
  }
  return true;
}

bool triangle_indices_here(const Issuer& issuer, Device device, const Dims& shape, Places places,
                           int64_t k, Tensor* rows, Tensor* columns) {
  const int64_t height = shape[0], width = shape[1], diagonal = within(k, height, width);
  count_elements(shape, sizeof(int64_t), "tensor");
  if (height > kLargest) return false;
  int64_t count = 0;
  for (int64_t i = 0; i < height; ++i) {
    const Kept kept = kept_of(places, i, width, diagonal);
    count += kept.last - kept.first;
  }
  if (!make_here(issuer, device, DType::i64, {count}, rows) ||
      !make_here(issuer, device, DType::i64, {count}, columns)) {
    return false;
  }
  auto* row = reinterpret_cast<int64_t*>(rows->address());
  auto* column = reinterpret_cast<int64_t*>(columns->address());
  for (int64_t i = 0; i < height; ++i) {
    const Kept kept = kept_of(places, i, width, diagonal);
    const int64_t n = kept.last - kept.first;
    for (int64_t j = 0; j < n; ++j) row[j] = i;
    for (int64_t j = 0; j < n; ++j) column[j] = kept.first + j;
    row += n;
    column += n;
  }
  return true;
}

}  // namespace ofl
