// What the expressions of the op table call, for bool, integers and floats, with NumPy's values.
// Integers wrap around. float16 is computed in float32 and rounded once.

namespace ofl {

// --- arithmetic

template <typename T>
T add(T x, T y) {
  if constexpr (Is<T>::integer) {
    return T(Wrapping<T>(x) + Wrapping<T>(y));
  } else {
    return T(x + y);
  }
}

template <typename T>
T subtract(T x, T y) {
  if constexpr (Is<T>::integer) {
    return T(Wrapping<T>(x) - Wrapping<T>(y));
  } else {
    return T(x - y);
  }
}

template <typename T>
T multiply(T x, T y) {
  if constexpr (Is<T>::integer) {
    return T(Wrapping<T>(x) * Wrapping<T>(y));
  } else {
    return T(x * y);
  }
}

template <typename T>
T divide(T x, T y) {
  return T(x / y);
}

template <typename T>
T negative(T x) {
  if constexpr (Is<T>::integer) {
    return T(0 - Wrapping<T>(x));
  } else {
    return T(-x);
  }
}

template <typename T>
T absolute(T x) {
  if constexpr (Same<T, bool>::type) {
    return x;
  } else if constexpr (Is<T>::integer) {
    return x < 0 ? negative(x) : x;
  } else {
    return T(::fabs(Computed<T>(x)));
  }
}

template <typename T>
T conj(T x) {
  return x;
}

template <typename T>
T square(T x) {
  return multiply(x, x);
}

/// Of integers, 1 / x cut off. That of 0 is what NumPy has on x86, a cast of infinity.
template <typename T>
T reciprocal(T x) {
  if constexpr (Is<T>::integer) {
    if (x == 0)
      return Is<T>::has_sign && sizeof(T) >= 4 ? T(Wrapping<T>(1) << (sizeof(T) * 8 - 1)) : T(0);
    return x == T(1) || (Is<T>::has_sign && x == T(-1)) ? x : T(0);
  } else {
    return T(1 / Computed<T>(x));
  }
}

/// The divisions of integers that C leaves open: by 0, and of the least number by -1.
template <typename T>
bool is_plain_division(T x, T y) {
  return y != 0 && !(Is<T>::has_sign && y == T(-1));
}

/// C's remainder, of the truncated quotient.
template <typename T>
T fmod(T x, T y) {
  if constexpr (Is<T>::integer) {
    return is_plain_division(x, y) ? T(x % y) : T(0);
  } else {
    return T(::fmod(Computed<T>(x), Computed<T>(y)));
  }
}

template <typename T>
T remainder(T x, T y) {
  if constexpr (Is<T>::integer) {
    const T rest = fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? T(rest + y) : rest;
  } else {
    typedef Computed<T> C;
    C rest = ::fmod(C(x), C(y));
    if (y == 0) return T(rest);
    if (rest == 0) return T(::copysign(C(0), C(y)));
    return T((rest < 0) != (y < 0) ? rest + C(y) : rest);
  }
}

/// Of floats, as Python: made from the remainder, so that both fit together.
template <typename C>
C floor_quotient(C x, C y) {
  if (y == 0) return x / y;
  const C rest = ::fmod(x, y);
  C quotient = (x - rest) / y;
  if (rest != 0 && (rest < 0) != (y < 0)) quotient -= 1;
  if (quotient == 0) return ::copysign(C(0), x / y);
  const C below = ::floor(quotient);
  return quotient - below > C(0.5) ? below + 1 : below;
}

template <typename T>
T floor_divide(T x, T y) {
  if constexpr (Is<T>::integer) {
    if (y == 0) return T(0);
    if (!is_plain_division(x, y)) return negative(x);
    const T quotient = T(x / y);
    return (x < 0) != (y < 0) && quotient * y != x ? T(quotient - 1) : quotient;
  } else {
    return T(floor_quotient(Computed<T>(x), Computed<T>(y)));
  }
}

/// As the array API standard has it: infinite where the dividend is, and 0 or -0 where the divisor
/// is.
template <typename T>
T standard_floor_divide(T x, T y) {
  const T plain = floor_divide(x, y);
  if constexpr (!Is<T>::integer) {
    typedef Computed<T> C;
    const C sign = ::copysign(C(1), C(x)) * ::copysign(C(1), C(y));
    const bool x_infinite = ::isinf(C(x)), y_infinite = ::isinf(C(y));
    if (x_infinite && !y_infinite && C(y) == C(y) && C(y) != 0) return T(sign / C(0));
    if (y_infinite && !x_infinite && C(x) == C(x) && C(x) != 0) return T(sign * C(0));
  }
  return plain;
}

/// Integers to negative powers have no result.
template <typename T>
bool is_negative_power(T, T y) {
  if constexpr (Is<T>::integer && Is<T>::has_sign) {
    return y < 0;
  } else {
    return false;
  }
}

/// Of integers by squaring; to negative powers anything.
template <typename T>
T pow(T x, T y) {
  if constexpr (Is<T>::integer) {
    Wrapping<T> base = Wrapping<T>(x), result = 1;
    for (Wrapping<T> rest = Wrapping<T>(y); rest; rest >>= 1) {
      if (rest & 1) result *= base;
      base *= base;
    }
    return T(result);
  } else {
    return T(::pow(Computed<T>(x), Computed<T>(y)));
  }
}

/// -1, 0 or 1, or NaN.
template <typename T>
T sign(T x) {
  return x > 0 ? T(1) : x < 0 ? T(-1) : x == 0 ? T(0) : x;
}

/// The absolute value, that of the least number too.
template <typename T>
Wrapping<T> magnitude(T x) {
  return x < 0 ? 0 - Wrapping<T>(x) : Wrapping<T>(x);
}

template <typename T>
T gcd(T x, T y) {
  Wrapping<T> a = magnitude(x), b = magnitude(y);
  while (b) {
    const Wrapping<T> rest = a % b;
    a = b;
    b = rest;
  }
  return T(a);
}

template <typename T>
T lcm(T x, T y) {
  const Wrapping<T> divisor = magnitude(gcd(x, y));
  return divisor ? T(magnitude(x) / divisor * magnitude(y)) : T(0);
}

// --- the larger and the smaller. Which of -0 and 0 wins is open.

template <typename T>
T maximum(T x, T y) {
  return x >= y || x != x ? x : y;
}

template <typename T>
T minimum(T x, T y) {
  return x <= y || x != x ? x : y;
}

template <typename T>
T fmax(T x, T y) {
  return x >= y || y != y ? x : y;
}

template <typename T>
T fmin(T x, T y) {
  return x <= y || y != y ? x : y;
}

/// Where low exceeds high the result is high.
template <typename T>
T clip(T x, T low, T high) {
  return minimum(maximum(x, low), high);
}

// --- comparison. An int64 and a uint64 compare by their values.

inline bool less(int64 x, uint64 y) { return x < 0 || uint64(x) < y; }
inline bool less(uint64 x, int64 y) { return y > 0 && x < uint64(y); }
template <typename T>
bool less(T x, T y) {
  return x < y;
}
inline bool less_equal(int64 x, uint64 y) { return !less(y, x); }
inline bool less_equal(uint64 x, int64 y) { return !less(y, x); }
template <typename T>
bool less_equal(T x, T y) {
  return x <= y;
}
inline bool equal(int64 x, uint64 y) { return x >= 0 && uint64(x) == y; }
inline bool equal(uint64 x, int64 y) { return equal(y, x); }
template <typename T>
bool equal(T x, T y) {
  return x == y;
}

// --- bits

template <typename T>
T bitwise_invert(T x) {
  if constexpr (Same<T, bool>::type) {
    return !x;
  } else {
    return T(~x);
  }
}

/// Shifts by the width and more, and by less than 0, move all bits out.
template <typename T>
T left_shift(T x, T y) {
  return uint64(y) < sizeof(T) * 8 ? T(Wrapping<T>(x) << int(y)) : T(0);
}

template <typename T>
T right_shift(T x, T y) {
  if (uint64(y) < sizeof(T) * 8) return T(x >> int(y));
  return x < 0 ? T(-1) : T(0);
}

template <typename T>
uint8 bitwise_count(T x) {
  if constexpr (sizeof(T) == 8) {
    return uint8(__popcll(magnitude(x)));
  } else {
    return uint8(__popc(magnitude(x)));
  }
}

}  // namespace ofl
