#include "cublas/cublas_gemm.h"

#include <complex>
#include <type_traits>
#include <vector>

#include "number.h"

namespace simcublas {
namespace {

using simcuda::Bfloat16;
using simcuda::Half;
using simcuda::Rounded;

template <typename T>
struct IsComplex : std::false_type {};
template <typename T>
struct IsComplex<std::complex<T>> : std::true_type {};

template <typename T>
std::complex<double> widened(std::complex<T> v) {
  return {static_cast<double>(v.real()), static_cast<double>(v.imag())};
}
inline double widened(Half v) { return static_cast<float>(v); }
inline double widened(Bfloat16 v) { return static_cast<float>(v); }
inline double widened(float v) { return v; }
inline double widened(double v) { return v; }
inline int64_t widened(int8_t v) { return v; }
inline int64_t widened(int32_t v) { return v; }

template <typename T, typename Sum>
T narrowed(Sum v) {
  if constexpr (IsComplex<T>::value) {
    using Part = typename T::value_type;
    return {static_cast<Part>(v.real()), static_cast<Part>(v.imag())};
  } else {
    return Rounded<T>::from(v);
  }
}

/// Element (row, column) of op(matrix).
template <typename T>
auto element(const T* data, const Matrix& matrix, int64_t row, int64_t column) {
  if (matrix.operation == 0) return widened(data[column * matrix.lead + row]);
  const auto value = widened(data[row * matrix.lead + column]);
  if constexpr (IsComplex<T>::value) {
    return matrix.operation == 2 ? std::conj(value) : value;
  } else {
    return value;
  }
}

/// Sums in double (or its complex, or 64-bit integers), one column of C at a time.
template <typename In, typename Out, typename Scale>
void one(const Gemm& g, const In* a, const In* b, Out* c) {
  using Sum = decltype(widened(In{}));
  using Scaled =
      std::conditional_t<std::is_same_v<Scale, int32_t>, int64_t, decltype(widened(Scale{}))>;
  const auto alpha = Scaled(widened(*static_cast<const Scale*>(g.alpha)));
  const auto beta = Scaled(widened(*static_cast<const Scale*>(g.beta)));
  const bool has_product = alpha != Scaled(0);
  std::vector<Sum> left(static_cast<size_t>(has_product ? g.m * g.k : 0));
  for (int64_t p = 0; has_product && p < g.k; ++p) {
    for (int64_t i = 0; i < g.m; ++i) left[p * g.m + i] = element(a, g.a, i, p);
  }
  std::vector<Sum> sums(static_cast<size_t>(g.m));
  for (int64_t j = 0; j < g.n; ++j) {
    sums.assign(sums.size(), Sum(0));
    for (int64_t p = 0; has_product && p < g.k; ++p) {
      const Sum factor = element(b, g.b, p, j);
      const Sum* const column = &left[p * g.m];
      for (int64_t i = 0; i < g.m; ++i) sums[i] += column[i] * factor;
    }
    for (int64_t i = 0; i < g.m; ++i) {
      Out& target = c[j * g.c_lead + i];
      auto value = alpha * Scaled(sums[i]);
      if (beta != Scaled(0)) value += beta * Scaled(widened(target));
      target = narrowed<Out>(value);
    }
  }
}

template <typename In, typename Out, typename Scale>
void gemm(const Gemm& g) {
  for (int64_t q = 0; q < g.count; ++q) {
    one<In, Out, Scale>(g, static_cast<const In*>(g.a.data) + q * g.a.stride,
                        static_cast<const In*>(g.b.data) + q * g.b.stride,
                        static_cast<Out*>(g.c) + q * g.c_stride);
  }
}

using C32 = std::complex<float>;
using C64 = std::complex<double>;

/// Compute types of CUBLAS_COMPUTE_*, as sets.
enum Compute : unsigned { kF16 = 1, kF32 = 2, kF32Fast = 4, kF64 = 8, kI32 = 16 };

unsigned compute_set(int type) {
  switch (type) {
    case 64:
    case 65: return kF16;
    case 68:
    case 69: return kF32;
    case 74:
    case 75:
    case 77: return kF32Fast;
    case 70:
    case 71: return kF64;
    case 72:
    case 73: return kI32;
    default: return 0;
  }
}

struct Row {
  int in, out;
  unsigned computes;
  int scale_bytes;
  GemmFunction function;
};

template <typename In, typename Out, typename Scale>
Row row(int in, int out, unsigned computes) {
  return {in, out, computes, sizeof(Scale), &gemm<In, Out, Scale>};
}

}  // namespace

GemmFunction find_gemm(int a_type, int b_type, int c_type, int compute_type, int* scale_bytes) {
  static const Row rows[] = {
      row<float, float, float>(kR32F, kR32F, kF32 | kF32Fast),
      row<double, double, double>(kR64F, kR64F, kF64),
      row<C32, C32, C32>(kC32F, kC32F, kF32 | kF32Fast),
      row<C64, C64, C64>(kC64F, kC64F, kF64),
      row<Half, Half, Half>(kR16F, kR16F, kF16),
      row<Half, Half, float>(kR16F, kR16F, kF32),
      row<Half, float, float>(kR16F, kR32F, kF32),
      row<Bfloat16, Bfloat16, float>(kR16BF, kR16BF, kF32),
      row<Bfloat16, float, float>(kR16BF, kR32F, kF32),
      row<int8_t, int32_t, int32_t>(kR8I, kR32I, kI32),
  };
  for (const Row& candidate : rows) {
    const bool fits = candidate.in == a_type && candidate.in == b_type && candidate.out == c_type;
    if (!fits || !(candidate.computes & compute_set(compute_type))) continue;
    *scale_bytes = candidate.scale_bytes;
    return candidate.function;
  }
  return nullptr;
}

int element_bytes(int type) {
  switch (type) {
    case kR8I: return 1;
    case kR16F:
    case kR16BF: return 2;
    case kR32F:
    case kR32I: return 4;
    case kR64F:
    case kC32F: return 8;
    case kC64F: return 16;
    default: return 0;
  }
}

}  // namespace simcublas
