// Functions of floats, and what is asked of single numbers.

namespace ofl {

#define OFL_UNARY(name)               \
  template <typename T>               \
  T name(T x) {                       \
    return T(::name(Computed<T>(x))); \
  }
#define OFL_BINARY(name)                              \
  template <typename T>                               \
  T name(T x, T y) {                                  \
    return T(::name(Computed<T>(x), Computed<T>(y))); \
  }

OFL_UNARY(sqrt)
OFL_UNARY(cbrt)
OFL_UNARY(exp)
OFL_UNARY(exp2)
OFL_UNARY(expm1)
OFL_UNARY(log)
OFL_UNARY(log1p)
OFL_UNARY(log2)
OFL_UNARY(log10)
OFL_UNARY(sin)
OFL_UNARY(cos)
OFL_UNARY(tan)
OFL_UNARY(asin)
OFL_UNARY(acos)
OFL_UNARY(atan)
OFL_UNARY(sinh)
OFL_UNARY(cosh)
OFL_UNARY(tanh)
OFL_UNARY(asinh)
OFL_UNARY(acosh)
OFL_UNARY(atanh)
OFL_UNARY(rint)
OFL_BINARY(atan2)
OFL_BINARY(hypot)
OFL_BINARY(copysign)

#undef OFL_UNARY
#undef OFL_BINARY

/// Rounding functions leave integers and bool as they are.
#define OFL_ROUNDING(name)                                 \
  template <typename T>                                    \
  T name(T x) {                                            \
    if constexpr (Is<T>::integer || Same<T, bool>::type) { \
      return x;                                            \
    } else {                                               \
      return T(::name(Computed<T>(x)));                    \
    }                                                      \
  }

OFL_ROUNDING(ceil)
OFL_ROUNDING(floor)
OFL_ROUNDING(trunc)

#undef OFL_ROUNDING

// --- what a number is

template <typename T>
bool isnan(T x) {
  return x != x;
}

template <typename T>
bool isinf(T x) {
  if constexpr (Is<T>::integer || Same<T, bool>::type) {
    return false;
  } else {
    return ::isinf(Computed<T>(x));
  }
}

template <typename T>
bool isfinite(T x) {
  return !isnan(x) && !isinf(x);
}

template <typename T>
bool signbit(T x) {
  return ::signbit(Computed<T>(x));
}

// --- made of others

template <typename T>
constexpr T pi() {
  return T(3.14159265358979323846);
}
template <typename T>
constexpr T ln2() {
  return T(0.693147180559945309417);
}
template <typename T>
constexpr T log2_e() {
  return T(1.44269504088896340736);
}
template <typename T>
constexpr T log10_e() {
  return T(0.434294481903251827651);
}

template <typename T>
T deg2rad(T x) {
  typedef Computed<T> C;
  return T(C(x) * (pi<C>() / C(180)));
}

template <typename T>
T rad2deg(T x) {
  typedef Computed<T> C;
  return T(C(x) * (C(180) / pi<C>()));
}

template <typename T>
T logaddexp(T given, T other) {
  typedef Computed<T> C;
  const C x = given, y = other, difference = x - y;
  if (x == y) return T(x + ln2<C>());  // infinities of one sign, too
  if (isnan(difference)) return T(difference);
  return T((x > y ? x : y) + ::log1p(::exp(-::fabs(difference))));
}

template <typename T>
T logaddexp2(T given, T other) {
  typedef Computed<T> C;
  const C x = given, y = other, difference = x - y;
  if (x == y) return T(x + 1);
  if (isnan(difference)) return T(difference);
  return T((x > y ? x : y) + log2_e<C>() * ::log1p(::exp2(-::fabs(difference))));
}

template <typename T>
T heaviside(T x, T y) {
  return x < 0 ? T(0) : x > 0 ? T(1) : x == 0 ? y : x;
}

// --- of real numbers the array API standard's special values are NumPy's

template <typename T>
T standard_expm1(T x) {
  return expm1(x);
}
template <typename T>
T standard_tanh(T x) {
  return tanh(x);
}

// --- neighbours

inline float nextafter(float x, float y) { return ::nextafter(x, y); }
inline double nextafter(double x, double y) { return ::nextafter(x, y); }
inline float16 nextafter(float16 x, float16 y) {
  if (isnan(x) || isnan(y)) return float16(float(x) + float(y));
  if (float(x) == float(y)) return x;
  if (float(x) == 0) return half_of((y.bits & 0x8000) | 1);
  const bool away = (float(x) < float(y)) == (float(x) > 0);
  return half_of(uint16(away ? x.bits + 1 : x.bits - 1));
}

inline bfloat16 nextafter(bfloat16 x, bfloat16 y) {
  const float from = x, to = y;
  if (isnan(from) || isnan(to)) return bfloat16(from + to);
  if (from == to) return y;
  if (from == 0) return bfloat16_of((y.bits & 0x8000) | 1);
  const bool away = (from < to) == (from > 0);
  return bfloat16_of(uint16(away ? x.bits + 1 : x.bits - 1));
}

// --- the parts of a number

/// With the sign of x; of an infinity it is 0.
template <typename T>
T fraction(T x) {
  using C = Computed<T>;
  return T(::copysign(isinf(x) ? C(0) : C(x) - ::trunc(C(x)), C(x)));
}

/// Of an absolute value in [0.5, 1); 0, infinities and NaN stay.
template <typename T>
T mantissa(T x) {
  int power;
  return isfinite(x) ? T(::frexp(Computed<T>(x), &power)) : x;
}

/// The power of 2 that mantissa(x) leaves out.
template <typename T>
int exponent(T x) {
  int power = 0;
  if (isfinite(x)) ::frexp(Computed<T>(x), &power);
  return power;
}

/// x times 2 to that power, rounded once. The limits take each number to infinity or to 0.
template <typename T, typename P>
T ldexp(T x, P power) {
  const int by = power < -2200 ? -2200 : power > 2200 ? 2200 : int(power);
  return T(::ldexp(Computed<T>(x), by));
}

/// To the next number away from 0, with the sign of x; of float16 to the next number above.
template <typename T>
T spacing(T x) {
  if constexpr (Same<T, float16>::type) {
    const float up = nextafter(x, half_of(0x7c00));
    return isfinite(x) ? float16(up - float(x)) : float16(float(x) - float(x));
  } else if constexpr (Same<T, bfloat16>::type) {
    const float away = bfloat16_of(uint16(x.bits + 1));
    if (!isfinite(x)) return bfloat16(float(x) - float(x));
    return bfloat16_of((bfloat16(away - float(x)).bits & 0x7fff) | (x.bits & 0x8000));
  } else {
    return isfinite(x) ? nextafter(x, x < 0 ? -1 / T(0) : 1 / T(0)) - x : x - x;
  }
}

}  // namespace ofl
