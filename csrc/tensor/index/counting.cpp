#include "tensor/index/counting.h"

#include <algorithm>
#include <cstring>

#include "ops/index/places.h"
#include "ops/sort/value_counts.h"

namespace ofl {

namespace {

constexpr int64_t kManyBytes = 65536;  // of an operand: some microseconds
constexpr int64_t kManyBins = 16384;

/// The largest of n integers; -1 where one is negative.
template <typename T>
int64_t largest(const T* values, int64_t n) {
  T least = values[0], most = values[0];
  for (int64_t i = 1; i < n; ++i) {
    least = std::min(least, values[i]);
    most = std::max(most, values[i]);
  }
  return least < T{} ? -1 : static_cast<int64_t>(most);
}

/// Of n values of [0, bins): what each counts is added up, or how often it occurs. False where
/// there are others.
template <typename T>
bool count_values(const T* values, int64_t n, int64_t bins, const double* weights, char* out) {
  if (!weights) return ops::add_counts(values, n, bins, reinterpret_cast<int64_t*>(out));
  auto* const sums = reinterpret_cast<double*>(out);
  for (int64_t i = 0; i < n; ++i) {
    const auto bin = static_cast<uint64_t>(values[i]);
    if (bin >= static_cast<uint64_t>(bins)) return false;
    sums[bin] += weights[i];
  }
  return true;
}

/// run(values) with x's elements as what they are; false for others than common integers.
template <typename Run>
bool with_integers(const Tensor& x, const Run& run) {
  const char* const data = x.address();
  switch (x.dtype) {
    case DType::i64: return run(reinterpret_cast<const int64_t*>(data));
    case DType::i32: return run(reinterpret_cast<const int32_t*>(data));
    case DType::i16: return run(reinterpret_cast<const int16_t*>(data));
    case DType::b1:
    case DType::u8: return run(reinterpret_cast<const uint8_t*>(data));
    case DType::u16: return run(reinterpret_cast<const uint16_t*>(data));
    default: return false;
  }
}

}  // namespace

bool nonzero_here(const Issuer& issuer, const Tensor& x, Tensor* out) {
  const int64_t n = x.size();
  if (x.ndim() == 0 || n > ops::kPlaces || !readable_here(issuer.machine, x, kManyBytes)) {
    return false;
  }
  int64_t positions[ops::kPlaces];
  const int64_t count = ops::find_nonzero(x.address(), x.dtype, n, positions);
  const Dims shape{x.ndim(), count};
  if (!make_tensor_now(x.storage->state(), DType::i64, shape, issuer.site, out)) return false;
  auto* const rows = reinterpret_cast<int64_t*>(out->address());
  for (int d = x.ndim() - 1; d > 0; --d) {
    for (int64_t i = 0; i < count; ++i) {
      rows[d * count + i] = positions[i] % x.shape[d];
      positions[i] /= x.shape[d];
    }
  }
  if (count > 0) std::memcpy(rows, positions, static_cast<size_t>(count) * sizeof(int64_t));
  issuer.machine.note_look();
  return true;
}

bool bincount_here(const Issuer& issuer, const Tensor& x, const Tensor* weights, int64_t fewest,
                   Tensor* out) {
  const int64_t n = x.size();
  if (x.ndim() != 1 || n == 0 || !readable_here(issuer.machine, x, kManyBytes)) return false;
  if (weights && (weights->dtype != DType::f64 || weights->shape != x.shape ||
                  !readable_here(issuer.machine, *weights, 8 * kManyBytes))) {
    return false;
  }
  return with_integers(x, [&](const auto* values) {
    const int64_t most = largest(values, n);
    if (most < 0 || most >= kManyBins || fewest > kManyBins) return false;
    const int64_t length = std::max(most + 1, fewest);
    const DType dtype = weights ? DType::f64 : DType::i64;
    if (!make_tensor_now(x.storage->state(), dtype, {length}, issuer.site, out)) return false;
    std::memset(out->address(), 0, static_cast<size_t>(length) * sizeof(int64_t));
    const auto* sums = weights ? reinterpret_cast<const double*>(weights->address()) : nullptr;
    if (!count_values(values, n, length, sums, out->address())) {
      fail(ErrorKind::runtime, "[bincount] expected numbers below ", length,
           ", got others: another thread wrote to the tensor");
    }
    issuer.machine.note_look();
    return true;
  });
}

}  // namespace ofl
