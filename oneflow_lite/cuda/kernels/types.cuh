// The types of elements by the names of their dtypes, and NumPy's casts between them.
// The only headers are those of the native core, which need no library.
#include "ops/cuda/layout/parameters.h"

namespace ofl {

using namespace layout;

typedef signed char int8;
typedef short int16;
typedef unsigned char uint8;
typedef float float32;
typedef double float64;

// --- half precision: 16 bits in memory, float32 in arithmetic, rounded to nearest even

#ifdef SIM_CUDA_H_
inline uint16 half_bits(_Float16 half) {
  uint16 bits;
  __builtin_memcpy(&bits, &half, sizeof bits);
  return bits;
}
inline uint16 half_bits(float x) { return half_bits(_Float16(x)); }
inline uint16 half_bits(double x) { return half_bits(_Float16(x)); }
inline float half_value(uint16 bits) {
  _Float16 half;
  __builtin_memcpy(&half, &bits, sizeof half);
  return half;
}
#else
inline uint16 half_bits(float x) {
  uint16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
inline uint16 half_bits(double x) {
  uint16 bits;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x));
  return bits;
}
inline float half_value(uint16 bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
#endif

struct float16 {
  uint16 bits;

  float16() = default;
  explicit float16(float x) : bits(half_bits(x)) {}
  explicit float16(double x) : bits(half_bits(x)) {}
  explicit float16(int x) : bits(half_bits(float(x))) {}
  operator float() const { return half_value(bits); }
};

inline float16 half_of(uint16 bits) {
  float16 half;
  half.bits = bits;
  return half;
}

// --- bfloat16: the upper half of a float32. What is computed is float32; float64 becomes that first.

#if defined(SIM_CUDA_H_) || __CUDA_ARCH__ < 800
inline uint16 bfloat16_bits(float x) {
  const uint32 bits = __float_as_uint(x);
  if (x != x) return uint16((bits >> 16 & 0x8000) | 0x7fc0);
  return uint16((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
#else
inline uint16 bfloat16_bits(float x) {
  uint16 bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
#endif

struct bfloat16 {
  uint16 bits;

  bfloat16() = default;
  explicit bfloat16(float x) : bits(bfloat16_bits(x)) {}
  operator float() const { return __uint_as_float(uint32(bits) << 16); }
};

inline bfloat16 bfloat16_of(uint16 bits) {
  bfloat16 x;
  x.bits = bits;
  return x;
}

// --- complex numbers, aligned as their parts

template <typename Part>
struct Complex {
  Part re, im;
};

typedef Complex<float> complex64;
typedef Complex<double> complex128;

// --- what templates ask of a type

// Enumerators, as constants of other kinds become variables of the image.
struct Real {
  enum { integer = false, has_sign = true, complex = false };  // bool is no integer
};
struct Signed {
  enum { integer = true, has_sign = true, complex = false };
};
struct Unsigned {
  enum { integer = true, has_sign = false, complex = false };
};

template <typename T>
struct Is : Real {};
template <>
struct Is<int8> : Signed {};
template <>
struct Is<int16> : Signed {};
template <>
struct Is<int32> : Signed {};
template <>
struct Is<int64> : Signed {};
template <>
struct Is<uint8> : Unsigned {};
template <>
struct Is<uint16> : Unsigned {};
template <>
struct Is<uint32> : Unsigned {};
template <>
struct Is<uint64> : Unsigned {};
template <typename Part>
struct Is<Complex<Part>> {
  enum { integer = false, has_sign = true, complex = true };
};

template <typename T, typename U>
struct Same {
  enum { type = false };
};
template <typename T>
struct Same<T, T> {
  enum { type = true };
};

template <bool condition, typename T, typename U>
struct Choice {
  typedef T type;
};
template <typename T, typename U>
struct Choice<false, T, U> {
  typedef U type;
};

/// Where integers wrap around: unsigned, of at least 32 bits, as narrower ones become int.
template <typename T>
using Wrapping = typename Choice<sizeof(T) == 8, uint64, uint32>::type;

/// What functions of floats are computed in.
template <typename T>
using Computed =
    typename Choice<Same<T, float16>::type || Same<T, bfloat16>::type, float32, T>::type;

/// The argument of a kernel.
template <typename Kernel>
struct ArgumentOf;
template <typename Argument>
struct ArgumentOf<void(Argument)> {
  typedef Argument type;
};

/// Not zero. NaN is true.
template <typename T>
bool truth(T x) {
  if constexpr (Is<T>::complex) {
    return x.re != 0 || x.im != 0;
  } else {
    return x != T(0);
  }
}

/// The whole part of a float; the least number where it has none here.
template <typename Int, typename Float>
Int whole_part(Float x) {
  const Int least = Int(uint64(1) << (sizeof(Int) * 8 - 1));
  return x >= Float(least) && x < -Float(least) ? Int(x) : least;
}

/// Of a float that does not fit, C says nothing. These are NumPy's values on x86: narrow integers
/// are cut from int32, uint32 from int64, and uint64 is made in halves.
template <typename Int, typename Float>
Int to_integer(Float x) {
  if constexpr (Same<Int, uint64>::type) {
    const Float half = Float(9223372036854775808.0);
    if (!(x >= half)) return uint64(whole_part<int64>(x));
    return uint64(whole_part<int64>(x - half)) ^ (uint64(1) << 63);
  } else if constexpr (Same<Int, uint32>::type || sizeof(Int) == 8) {
    return Int(whole_part<int64>(x));
  } else {
    return Int(whole_part<int32>(x));
  }
}

/// NumPy's cast; complex numbers to real ones lose their imaginary part.
template <typename To, typename From>
To cast(From x) {
  if constexpr (Same<To, From>::type) {
    return x;
  } else if constexpr (Same<To, bool>::type) {
    return truth(x);
  } else if constexpr (Is<To>::complex) {
    typedef decltype(To::re) Part;
    if constexpr (Is<From>::complex) {
      return To{Part(x.re), Part(x.im)};
    } else {
      return To{cast<Part>(x), Part(0)};
    }
  } else if constexpr (Is<From>::complex) {
    return cast<To>(x.re);
  } else if constexpr (Same<To, bfloat16>::type) {
    return bfloat16(float(x));
  } else if constexpr (Same<To, float16>::type && !Same<From, float64>::type) {
    return float16(float(x));
  } else if constexpr (Same<From, float16>::type || Same<From, bfloat16>::type) {
    return cast<To>(float(x));
  } else if constexpr (Is<To>::integer && (Same<From, float>::type || Same<From, double>::type)) {
    return to_integer<To>(x);
  } else {
    return To(x);
  }
}

}  // namespace ofl
