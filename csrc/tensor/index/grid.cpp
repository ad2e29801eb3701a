#include "tensor/index/grid.h"

#include <algorithm>
#include <limits>

#include "tensor/index/elements.h"

namespace ofl {

namespace {

constexpr int64_t kManyBytes = 1 << 20;  // of an operand: some hundred microseconds

bool is_known(const Issuer& issuer, const Tensor& x) {
  return x.dtype == DType::i64 && x.size() > 0 && readable_here(issuer.machine, x, kManyBytes);
}

const int64_t* integers_of(const Tensor& x) {
  return reinterpret_cast<const int64_t*>(x.address());
}

/// How many places there are; 0 where they are too many for quotients of 32 bits, or there is none.
int64_t places_of(const Dims& shape) {
  int64_t total = 1;
  for (const int64_t size : shape) {
    if (size <= 0 || size > std::numeric_limits<int32_t>::max() / total) return 0;
    total *= size;
  }
  return total;
}

/// All are from 0 on, and below `size`.
bool are_within(const int64_t* values, int64_t n, int64_t size) {
  bool is_outside = false;
  for (int64_t i = 0; i < n; ++i) {
    is_outside |= static_cast<uint64_t>(values[i]) >= static_cast<uint64_t>(size);
  }
  return !is_outside;
}

/// The dimension whose index changes as the k-th one.
int dimension(int k, int ndim, bool by_columns) { return by_columns ? k : ndim - 1 - k; }

/// Each of the first n integers `inner` times, and all of that `outer` times.
void write_steps(int64_t outer, int64_t n, int64_t inner, int64_t* out) {
  int64_t* to = out;
  for (int64_t i = 0; i < n; ++i, to += inner) std::fill_n(to, inner, i);
  const int64_t size = n * inner;
  for (int64_t k = 1; k < outer; ++k) std::copy_n(out, size, out + k * size);
}

}  // namespace

bool indices_here(const Issuer& issuer, Device device, const Dims& shape, Tensor* out) {
  constexpr int64_t kMostBytes = int64_t{16} << 20;  // some milliseconds
  constexpr int64_t kItem = sizeof(int64_t);
  const int ndim = shape.size();
  vm::DeviceState& state = issuer.machine.state(device);
  if (!may_make_now(issuer.machine, state) || ndim >= kMaxDims) return false;
  Dims grids{ndim};
  for (const int64_t size : shape) grids.push_back(size);
  const int64_t count = count_elements(grids, kItem, "tensor");
  if (count * kItem > kMostBytes) return false;
  if (!make_tensor_now(state, DType::i64, grids, issuer.site, out)) return false;
  if (count == 0) return true;
  auto* to = reinterpret_cast<int64_t*>(out->address());
  int64_t outer = 1, inner = count / ndim;
  for (const int64_t size : shape) {
    inner /= size;
    write_steps(outer, size, inner, to);
    outer *= size;
    to += count / ndim;
  }
  return true;
}

bool unravel_here(const Issuer& issuer, const Tensor& places, const Dims& shape, bool by_columns,
                  Tensor* out) {
  const int ndim = shape.size();
  const int64_t n = places.size(), total = places_of(shape);
  if (ndim == 0 || total == 0 || !is_known(issuer, places)) return false;
  const int64_t* const values = integers_of(places);
  if (!are_within(values, n, total)) return false;
  const Dims rows{ndim, n};
  if (!make_tensor_now(places.storage->state(), DType::i64, rows, issuer.site, out)) return false;
  auto* const indices = reinterpret_cast<int64_t*>(out->address());
  int64_t* const rest = indices + dimension(ndim - 1, ndim, by_columns) * n;
  std::copy_n(values, n, rest);
  for (int k = 0; k + 1 < ndim; ++k) {
    const int d = dimension(k, ndim, by_columns);
    const auto size = static_cast<uint32_t>(shape[d]);
    int64_t* const row = indices + d * n;
    for (int64_t i = 0; i < n; ++i) {
      const auto place = static_cast<uint32_t>(rest[i]), quotient = place / size;
      row[i] = place - quotient * size;
      rest[i] = quotient;
    }
  }
  return true;
}

bool ravel_here(const Issuer& issuer, const std::vector<Tensor>& indices, const Dims& shape,
                bool by_columns, Tensor* out) {
  const int ndim = shape.size();
  if (ndim == 0 || places_of(shape) == 0) return false;
  const int64_t n = indices[0].size();
  for (int d = 0; d < ndim; ++d) {
    const bool fits = is_known(issuer, indices[d]) && indices[d].shape == indices[0].shape;
    if (!fits || !are_within(integers_of(indices[d]), n, shape[d])) return false;
  }
  vm::DeviceState& state = indices[0].storage->state();
  if (!make_tensor_now(state, DType::i64, indices[0].shape, issuer.site, out)) return false;
  auto* const places = reinterpret_cast<int64_t*>(out->address());
  std::copy_n(integers_of(indices[dimension(ndim - 1, ndim, by_columns)]), n, places);
  for (int k = ndim - 2; k >= 0; --k) {
    const int d = dimension(k, ndim, by_columns);
    const int64_t* const row = integers_of(indices[d]);
    for (int64_t i = 0; i < n; ++i) places[i] = places[i] * shape[d] + row[i];
  }
  return true;
}

}  // namespace ofl
