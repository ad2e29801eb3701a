// The conversion table: a strided loop for each pair of dtypes, with the bits of NumPy's astype,
// and of bfloat16 with those of ml_dtypes (float64 and integers round to float32 first). Float to
// integer conversions out of range are what NumPy's x86-64 wheels compute, spelled out. On other
// processors they are the compiler's, as NumPy's are: in arrays they depend on its vectors.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <type_traits>

#include "base/half.h"
#include "base/vectors.h"
#include "ops/loop_args.h"
#include "ops/truth_words.h"

namespace ofl::ops {

namespace {

template <typename T>
struct IsComplex : std::false_type {};
template <typename T>
struct IsComplex<std::complex<T>> : std::true_type {};

/// Elements are read and written by memcpy: strided data may be unaligned, and a bool may hold any
/// byte.
template <typename T>
T load(const char* from) {
  if constexpr (std::is_same_v<T, bool>) {
    return *reinterpret_cast<const unsigned char*>(from) != 0;
  } else {
    T value;
    std::memcpy(static_cast<void*>(&value), from, sizeof(T));
    return value;
  }
}

template <typename T>
void store(char* to, T value) {
  if constexpr (IsComplex<T>::value) {  // as parts: joining them first costs a stall
    store(to, value.real());
    store(to + sizeof(T) / 2, value.imag());
  } else {
    std::memcpy(to, static_cast<const void*>(&value), sizeof(T));
  }
}

#if defined(__x86_64__)
constexpr bool kIsX86 = true;
#else
constexpr bool kIsX86 = false;
#endif

/// float -> uint32 of one element: the low half of a 64-bit conversion.
template <typename From>
uint32_t to_uint32(From x) {
  return static_cast<uint32_t>(static_cast<int64_t>(x));
}

/// float -> uint32 as NumPy's vector code does it. Differs from to_uint32 only outside [0, 2^32).
/// Masks in the place of branches: loops of it vectorize.
template <typename From>
uint32_t to_uint32_vector(From x) {
  using Bits = std::conditional_t<sizeof(From) == sizeof(int32_t), int32_t, int64_t>;
  constexpr From half_range = 2147483648.0f;
  const Bits is_big = -static_cast<Bits>(x >= half_range);  // all bits or none
  Bits bits;
  std::memcpy(&bits, &half_range, sizeof(bits));
  bits &= is_big;
  From offset;
  std::memcpy(&offset, &bits, sizeof(offset));
  const int32_t low = static_cast<int32_t>(x - offset);
  return static_cast<uint32_t>(low) ^ (static_cast<uint32_t>(is_big) << 31);
}

template <typename From>
uint64_t to_uint64(From x) {
  constexpr From half_range = 9223372036854775808.0f;
  if (!(x >= half_range)) return static_cast<uint64_t>(static_cast<int64_t>(x));
  return static_cast<uint64_t>(static_cast<int64_t>(x - half_range)) ^ (uint64_t{1} << 63);
}

template <typename To, typename From>
To real_to_integer(From x) {
  if constexpr (!kIsX86 || !std::is_floating_point_v<From>) {
    return static_cast<To>(x);
  } else if constexpr (std::is_same_v<To, uint32_t>) {
    return to_uint32(x);
  } else if constexpr (std::is_same_v<To, uint64_t>) {
    return to_uint64(x);
  } else if constexpr (sizeof(To) < sizeof(int32_t)) {
    return static_cast<To>(static_cast<int32_t>(x));
  } else {
    return static_cast<To>(x);
  }
}

template <typename To, typename From>
To convert(From x) {
  if constexpr (std::is_same_v<From, bool> && !std::is_same_v<To, bool>) {
    return convert<To>(static_cast<int32_t>(x));
  } else if constexpr (IsComplex<From>::value) {
    if constexpr (std::is_same_v<To, bool>) {
      return x.real() != 0 || x.imag() != 0;
    } else if constexpr (IsComplex<To>::value) {
      using Part = typename To::value_type;
      return To(static_cast<Part>(x.real()), static_cast<Part>(x.imag()));
    } else {
      return convert<To>(x.real());
    }
  } else if constexpr (IsComplex<To>::value) {
    return To(convert<typename To::value_type>(x), 0);
  } else if constexpr (std::is_same_v<From, BFloat16>) {
    if constexpr (std::is_same_v<To, bool>) {
      return (x.bits & 0x7fff) != 0;
    } else if constexpr (std::is_same_v<To, Half>) {
      return bfloat16_to_half(x);
    } else {
      return convert<To>(bfloat16_to_float(x));
    }
  } else if constexpr (std::is_same_v<From, Half>) {
    if constexpr (std::is_same_v<To, bool>) {
      return (x.bits & 0x7fff) != 0;
    } else if constexpr (std::is_same_v<To, double>) {
      return half_to_double(x);
    } else {
      return convert<To>(half_to_float(x));
    }
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return float_to_bfloat16(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, Half>) {
    if constexpr (std::is_same_v<From, double>) {
      return double_to_half(x);
    } else {
      return float_to_half(static_cast<float>(x));
    }
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::is_integral_v<To>) {
    return real_to_integer<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

/// How many leading elements of a contiguous float -> uint32 cast NumPy's compiled loop does by
/// vectors of four. Bits outside the range of uint32 depend on it, so callers that split a cast
/// must split at multiples of four.
template <typename From>
int64_t vectorized_elements(int64_t n) {
  if (std::is_floating_point_v<From>) return n & ~int64_t{3};
  if (n < (sizeof(From) == 16 ? 6 : 5)) return 0;
  return (n - 1) & ~int64_t{3};
}

template <typename From>
auto real_part(From x) {
  if constexpr (IsComplex<From>::value) {
    return x.real();
  } else {
    return x;
  }
}

template <typename From, typename To>
constexpr bool kHasVectorUint32 = kIsX86 && std::is_same_v<To, uint32_t> &&
                                  (std::is_floating_point_v<From> || IsComplex<From>::value);

template <typename From, typename To>
void cast_contiguous(const char* src, char* dst, int64_t n) {
  int64_t i = 0;
  if constexpr (kHasVectorUint32<From, To>) {
    for (const int64_t vectors = vectorized_elements<From>(n); i < vectors; ++i) {
      store(dst + i * sizeof(To), to_uint32_vector(real_part(load<From>(src + i * sizeof(From)))));
    }
  }
  for (; i < n; ++i) {
    store(dst + i * sizeof(To), convert<To>(load<From>(src + i * sizeof(From))));
  }
}

template <typename From, typename To>
void cast_strided(const char* src, int64_t src_stride, char* dst, int64_t dst_stride, int64_t n) {
  if (src_stride == sizeof(From) && dst_stride == sizeof(To)) {
    cast_contiguous<From, To>(src, dst, n);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    store(dst, convert<To>(load<From>(src)));
    src += src_stride;
    dst += dst_stride;
  }
}

/// Every other element, the step that is most common, to dense memory. Not in place.
template <size_t Size>
void copy_every_other(const char* src, char* __restrict dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(dst + i * Size, src + 2 * i * Size, Size);
}

/// Elements at any distance, to dense memory that they do not overlap. (Eight loads, then eight
/// neighbouring stores: the compiler makes wide stores of them.)
template <size_t Size>
void gather_dense(const char* src, int64_t stride, char* __restrict dst, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8, src += 8 * stride, dst += 8 * Size) {
    for (int64_t k = 0; k < 8; ++k) std::memcpy(dst + k * Size, src + k * stride, Size);
  }
  for (; i < n; ++i, src += stride, dst += Size) std::memcpy(dst, src, Size);
}

/// 64 bytes, by registers. (An array in between would be written, too.)
void copy_line(char* dst, const char* src) {
  typedef int64_t Words __attribute__((vector_size(16)));
  Words words[4];
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) std::memcpy(&words[k], src + 16 * k, 16);
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) std::memcpy(dst + 16 * k, &words[k], 16);
}

/// Where a target is a few bytes behind its source modulo 4096, memcpy's `rep movsb` takes 13 times
/// as long on some processors (AMD EPYC, glibc 2.36: 3.4 instead of 46 GB/s); moves of 64 bytes, to
/// whole cache lines, do not.
void copy_bytes(char* dst, const char* src, size_t bytes) {
  constexpr size_t kLeast = 2048, kLine = 64;
  const auto distance = reinterpret_cast<uintptr_t>(dst) - reinterpret_cast<uintptr_t>(src);
  const bool is_slow = distance % 4096 != 0 && distance % 4096 < kLine;
  if (!is_slow || bytes < kLeast) {
    std::memcpy(dst, src, bytes);
    return;
  }
  size_t done = -reinterpret_cast<uintptr_t>(dst) % kLine;
  std::memcpy(dst, src, done);
  for (; done + kLine <= bytes; done += kLine) copy_line(dst + done, src + done);
  std::memcpy(dst + done, src + done, bytes - done);
}

/// One element, many times. (The compiler makes wide stores of them.)
template <size_t Size>
void fill_dense(const char* src, char* dst, int64_t n) {
  unsigned char element[Size];
  std::memcpy(element, src, Size);
  if constexpr (Size == 1) {
    std::memset(dst, element[0], static_cast<size_t>(n));
  } else {
    for (int64_t i = 0; i < n; ++i) std::memcpy(dst + i * Size, element, Size);
  }
}

template <size_t Size>
void copy_strided(const char* src, int64_t src_stride, char* dst, int64_t dst_stride, int64_t n) {
  constexpr int64_t size = Size;
  if (src_stride == size && dst_stride == size) {
    if (src != dst) copy_bytes(dst, src, static_cast<size_t>(n) * Size);
    return;
  }
  if (src_stride == 0 && dst_stride == size) return fill_dense<Size>(src, dst, n);
  const int64_t last = (n - 1) * src_stride;
  const bool apart = dst + n * size <= src + std::min<int64_t>(last, 0) ||
                     src + std::max<int64_t>(last, 0) + size <= dst;
  if (src_stride == 2 * size && dst_stride == size && apart) {
    return copy_every_other<Size>(src, dst, n);
  }
  if (dst_stride == size && apart) return gather_dense<Size>(src, src_stride, dst, n);
#pragma GCC unroll 8
  for (int64_t i = 0; i < n; ++i) {
    unsigned char element[Size];
    std::memcpy(element, src + i * src_stride, Size);
    std::memcpy(dst + i * dst_stride, element, Size);
  }
}

/// Elements with gaps are put beside each other first, some at a time, to be cast by vectors. (To
/// uint32 they are cast one by one, with other bits out of range.)
template <typename From, typename To>
void cast_gathering(const char* src, int64_t src_stride, char* dst, int64_t dst_stride, int64_t n) {
  constexpr int64_t kFew = 32, kTogether = 256;
  const bool has_gaps = src_stride != sizeof(From) && src_stride != 0;
  if (kHasVectorUint32<From, To> || !has_gaps || dst_stride != sizeof(To) || n < kFew) {
    return cast_strided<From, To>(src, src_stride, dst, dst_stride, n);
  }
  char together[kTogether * sizeof(From)];
  for (int64_t i = 0; i < n; i += kTogether) {
    const int64_t count = std::min(kTogether, n - i);
    gather_dense<sizeof(From)>(src + i * src_stride, src_stride, together, count);
    cast_contiguous<From, To>(together, dst + i * sizeof(To), count);
  }
}

template <typename T>
constexpr bool kIsLong = std::is_integral_v<T> && sizeof(T) == sizeof(int64_t);

/// The float64 that has these bits.
double of_bits(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// By its two halves, each beside a power of two whose bits leave it room. Only the last addition
/// rounds. Loops of it vectorize without an instruction that casts 64 bits.
template <typename From>
double to_double_by_halves(From x) {
  constexpr uint64_t two_to_84 = 0x4530000000000000, two_to_52 = 0x4330000000000000;
  constexpr uint64_t sign = std::is_signed_v<From> ? uint64_t{1} << 31 : 0;  // to be unsigned
  const auto bits = static_cast<uint64_t>(x);
  const double high = of_bits(two_to_84 | ((bits >> 32) ^ sign));
  const double low = of_bits(two_to_52 | (bits & 0xffffffff));
  return high - (0x1p84 + 0x1p32 * static_cast<double>(sign) + 0x1p52) + low;
}

/// Floats to integers of 64 bits by way of 32, some at a time, up to the first that has no room in
/// these: others like it follow, as a rule. Returns how many are cast.
template <typename From, typename To>
int64_t cast_near_ones(const char* src, int64_t src_stride, char* dst, int64_t n) {
  using Bits = std::conditional_t<sizeof(From) == sizeof(int32_t), uint32_t, uint64_t>;
  constexpr int64_t kTogether = 64;
  constexpr From kFar = 2147483648.0f;
  for (int64_t i = 0; i < n; i += kTogether) {
    const int64_t count = std::min(kTogether, n - i);
    From together[kTogether];
    char* const bytes = reinterpret_cast<char*>(together);
    gather_dense<sizeof(From)>(src + i * src_stride, src_stride, bytes, count);
    Bits any_far = 0;
    for (int64_t k = 0; k < count; ++k) {
      any_far |= std::abs(together[k]) < kFar ? Bits{0} : Bits{1};  // a NaN is far
    }
    if (any_far) return i;
    char* const to = dst + i * static_cast<int64_t>(sizeof(To));
    for (int64_t k = 0; k < count; ++k) {
      store(to + k * sizeof(To), static_cast<To>(static_cast<int32_t>(together[k])));
    }
  }
  return n;
}

/// AVX2 has no instruction for several integers of 64 bits: they go another way, or one by one.
template <typename From, typename To>
OFL_AVX2 OFL_FLAT void cast_256(const char* src, int64_t src_stride, char* dst, int64_t dst_stride,
                                int64_t n) {
  if constexpr (kIsLong<From> && std::is_same_v<To, double>) {
    if (src_stride != sizeof(From) || dst_stride != sizeof(To)) {
      return cast_strided<From, To>(src, src_stride, dst, dst_stride, n);
    }
    for (int64_t i = 0; i < n; ++i) {
      store(dst + i * sizeof(To), to_double_by_halves(load<From>(src + i * sizeof(From))));
    }
  } else if constexpr (kIsLong<To> && std::is_floating_point_v<From>) {
    constexpr int64_t kFew = 16;
    const bool is_long = src_stride != 0 && dst_stride == sizeof(To) && n >= kFew;
    const int64_t done = is_long ? cast_near_ones<From, To>(src, src_stride, dst, n) : 0;
    cast_strided<From, To>(src + done * src_stride, src_stride, dst + done * dst_stride, dst_stride,
                           n - done);
  } else if constexpr (kIsLong<From> || kIsLong<To>) {
    cast_strided<From, To>(src, src_stride, dst, dst_stride, n);
  } else {
    cast_gathering<From, To>(src, src_stride, dst, dst_stride, n);
  }
}

template <typename From, typename To>
OFL_AVX512 OFL_FLAT void cast_512(const char* src, int64_t src_stride, char* dst,
                                  int64_t dst_stride, int64_t n) {
  cast_gathering<From, To>(src, src_stride, dst, dst_stride, n);
}

template <typename From, typename To>
CastFn widest() {
  static const auto chosen =
      choose_by_isa<CastFn>("cast", cast_strided<From, To>, cast_256<From, To>, cast_512<From, To>);
  return chosen;
}

template <typename Words>
void find_truths(const char* src, int64_t src_stride, char* dst, int64_t dst_stride, int64_t n) {
  const bool apart = dst + n <= src || src + n * Words::kSize <= dst;
  if (src_stride == Words::kSize && dst_stride == 1 && apart) {
    char* __restrict to = dst;
    for (int64_t i = 0; i < n; ++i) to[i] = Words::at(src + i * Words::kSize) != 0;
    return;
  }
  for (int64_t i = 0; i < n; ++i) dst[i * dst_stride] = Words::at(src + i * src_stride) != 0;
}

template <typename Words>
OFL_AVX2 OFL_FLAT void find_truths_256(const char* src, int64_t src_stride, char* dst,
                                       int64_t dst_stride, int64_t n) {
  find_truths<Words>(src, src_stride, dst, dst_stride, n);
}
template <typename Words>
OFL_AVX512 OFL_FLAT void find_truths_512(const char* src, int64_t src_stride, char* dst,
                                         int64_t dst_stride, int64_t n) {
  find_truths<Words>(src, src_stride, dst, dst_stride, n);
}

CastFn truths_of(DType dtype) {
  return visit_truth_words(dtype, [](auto words) {
    using Words = decltype(words);
    static const auto chosen = choose_by_isa<CastFn>(
        "truths", find_truths<Words>, find_truths_256<Words>, find_truths_512<Words>);
    return chosen;
  });
}

template <typename T>
constexpr bool kIsInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>;

/// Casts by one instruction for each element, which does what the scalar one does out of range,
/// too; and those around each operation on bfloat16, which compute with integers.
template <typename From, typename To>
constexpr bool kHasVectors =
    (std::is_same_v<From, BFloat16> && std::is_same_v<To, float>) ||
    (std::is_floating_point_v<From> && (std::is_floating_point_v<To> || kIsInteger<To>)) ||
    (kIsInteger<From> && std::is_floating_point_v<To>);

/// Truths as numbers.
template <typename From, typename To>
constexpr bool kCounts = std::is_same_v<From, bool> && std::is_arithmetic_v<To>;

}  // namespace

CastFn cast_function(DType from, DType to) {
  return visit_dtype(from, [from, to](auto source) {
    return visit_dtype(to, [from](auto target) -> CastFn {
      using From = decltype(source);
      using To = decltype(target);
      if constexpr (std::is_same_v<From, To>) {
        return &copy_strided<sizeof(To)>;
      } else if constexpr (kHasVectors<From, To> || kHasVectors<To, From> || kCounts<From, To>) {
        return widest<From, To>();
      } else if constexpr (std::is_same_v<To, bool>) {
        return truths_of(from);
      } else {
        return &cast_strided<From, To>;
      }
    });
  });
}

}  // namespace ofl::ops
