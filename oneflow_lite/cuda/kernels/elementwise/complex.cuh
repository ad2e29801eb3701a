// Complex numbers: NumPy's formulas where it has its own, else those of C's Annex G with its
// special values. Arguments near overflow do not overflow on the way.

namespace ofl {

template <typename P>
bool isnan(Complex<P> z) {
  return isnan(z.re) || isnan(z.im);
}
template <typename P>
bool isinf(Complex<P> z) {
  return isinf(z.re) || isinf(z.im);
}
template <typename P>
bool isfinite(Complex<P> z) {
  return isfinite(z.re) && isfinite(z.im);
}

// --- arithmetic

template <typename P>
Complex<P> add(Complex<P> x, Complex<P> y) {
  return {x.re + y.re, x.im + y.im};
}
template <typename P>
Complex<P> subtract(Complex<P> x, Complex<P> y) {
  return {x.re - y.re, x.im - y.im};
}
/// With multiply-add, as NumPy's vectorized loops have it.
template <typename P>
Complex<P> multiply(Complex<P> x, Complex<P> y) {
  return {::fma(x.re, y.re, -(x.im * y.im)), ::fma(x.re, y.im, x.im * y.re)};
}
template <typename P>
Complex<P> scale(Complex<P> z, P factor) {
  return {z.re * factor, z.im * factor};
}
template <typename P>
Complex<P> negative(Complex<P> z) {
  return {-z.re, -z.im};
}
template <typename P>
Complex<P> conj(Complex<P> z) {
  return {z.re, -z.im};
}
template <typename P>
P absolute(Complex<P> z) {
  return ::hypot(z.re, z.im);
}

/// Smith's method (R. L. Smith, Algorithm 116, 1962).
template <typename P>
Complex<P> divide(Complex<P> x, Complex<P> y) {
  const P re = ::fabs(y.re), im = ::fabs(y.im);
  if (re == 0 && im == 0) return {x.re / re, x.im / re};
  if (re >= im) {
    const P ratio = y.im / y.re, factor = P(1) / (y.re + y.im * ratio);
    return {(x.re + x.im * ratio) * factor, (x.im - x.re * ratio) * factor};
  }
  const P ratio = y.re / y.im, factor = P(1) / (y.im + y.re * ratio);
  return {(x.re * ratio + x.im) * factor, (x.im * ratio - x.re) * factor};
}

template <typename P>
Complex<P> reciprocal(Complex<P> z) {
  if (::fabs(z.im) <= ::fabs(z.re)) {
    const P ratio = z.im / z.re, size = z.re + z.im * ratio;
    return {1 / size, -ratio / size};
  }
  const P ratio = z.re / z.im, size = z.re * ratio + z.im;
  return {ratio / size, -1 / size};
}

/// z / abs(z). An infinite part is the direction; two, or NaN, have none. The imaginary part is
/// where only the modulus is infinite.
template <typename P>
Complex<P> sign(Complex<P> z) {
  const P size = absolute(z);
  if (isnan(size) || (isinf(z.re) && isinf(z.im))) return {P(0) / P(0), P(0) / P(0)};
  if (isinf(z.re)) return {::copysign(P(1), z.re), P(0)};
  if (isinf(size)) return {P(0), ::copysign(P(1), z.im)};
  if (size == 0) return {P(0), P(0)};
  return {z.re / size, z.im / size};
}

template <typename P>
Complex<P> rint(Complex<P> z) {
  return {::rint(z.re), ::rint(z.im)};
}

// --- order: by the real part, then by the imaginary one

template <typename P>
bool equal(Complex<P> x, Complex<P> y) {
  return x.re == y.re && x.im == y.im;
}
template <typename P>
bool less(Complex<P> x, Complex<P> y) {
  return (x.re < y.re && !isnan(x.im) && !isnan(y.im)) || (x.re == y.re && x.im < y.im);
}
template <typename P>
bool less_equal(Complex<P> x, Complex<P> y) {
  return (x.re < y.re && !isnan(x.im) && !isnan(y.im)) || (x.re == y.re && x.im <= y.im);
}
template <typename P>
Complex<P> maximum(Complex<P> x, Complex<P> y) {
  return isnan(x) || less_equal(y, x) ? x : y;
}
template <typename P>
Complex<P> minimum(Complex<P> x, Complex<P> y) {
  return isnan(x) || less_equal(x, y) ? x : y;
}
template <typename P>
Complex<P> fmax(Complex<P> x, Complex<P> y) {
  return isnan(y) || less_equal(y, x) ? x : y;
}
template <typename P>
Complex<P> fmin(Complex<P> x, Complex<P> y) {
  return isnan(y) || less_equal(x, y) ? x : y;
}

/// Here NaN is like any number that is neither less nor greater.
template <typename P>
bool less_in_clip(Complex<P> x, Complex<P> y) {
  return x.re == y.re ? x.im < y.im : x.re < y.re;
}
template <typename P>
Complex<P> clip(Complex<P> x, Complex<P> low, Complex<P> high) {
  const Complex<P> raised = isnan(x) || less_in_clip(low, x) ? x : low;
  return isnan(raised) || less_in_clip(raised, high) ? raised : high;
}

// --- exponents

/// exp(x) of it would overflow, and exp(x / 2) not.
template <typename P>
constexpr P large_exponent() {
  return Same<P, float>::type ? P(88) : P(709);
}

/// factor * {exp(x) * c, exp(x) * s}, in two steps where exp(x) alone overflows.
template <typename P>
Complex<P> exp_times(P x, P c, P s, P factor = P(1)) {
  if (x <= large_exponent<P>()) return scale(Complex<P>{c, s}, factor * ::exp(x));
  const P root = ::exp(x / 2), other = factor * root;
  return {c * root * other, s * root * other};
}

template <typename P>
Complex<P> exp(Complex<P> z) {
  const P undefined = z.im - z.im;  // NaN if im is not finite
  if (isfinite(z.re)) {
    if (z.im == 0) return {::exp(z.re), z.im};
    if (!isfinite(z.im)) return {undefined, undefined};
    return exp_times(z.re, ::cos(z.im), ::sin(z.im));
  }
  if (z.im == 0) return {::exp(z.re), z.im};
  if (isnan(z.re)) return {z.re, z.re};
  const P size = z.re < 0 ? P(0) : z.re;
  if (isfinite(z.im)) return {::copysign(size, ::cos(z.im)), ::copysign(size, ::sin(z.im))};
  if (z.re < 0) return {size, ::copysign(size, z.im)};
  return {size, undefined};
}

template <typename P>
Complex<P> exp2(Complex<P> z) {
  return exp(scale(z, ln2<P>()));
}

template <typename P>
Complex<P> expm1(Complex<P> z) {
  const P half = ::sin(z.im / 2);
  return {::expm1(z.re) * ::cos(z.im) - 2 * half * half, ::exp(z.re) * ::sin(z.im)};
}

// --- logarithms

/// x * x + y * y - 1 without cancellation, where x >= y >= 0 and the sum of squares is near 1:
/// squares and sums with their rounding errors (T. J. Dekker, 1971).
template <typename P>
P squares_less_one(P x, P y) {
  const P a = x * x, a_error = ::fma(x, x, -a);
  const P b = y * y, b_error = ::fma(y, y, -b);
  const P rest = a - 1, rest_error = a - (rest + 1);
  const P sum = rest + b, part = sum - rest;
  const P sum_error = (rest - (sum - part)) + (b - part);
  return sum + (sum_error + rest_error + a_error + b_error);
}

template <typename P>
Complex<P> log(Complex<P> z) {
  const P x = ::fabs(z.re), y = ::fabs(z.im);
  const P large = x > y ? x : y, small = x > y ? y : x;
  const P angle = ::atan2(z.im, z.re), square_sum = large * large + small * small;
  if (square_sum > P(0.5) && square_sum < P(3)) {
    return {::log1p(squares_less_one(large, small)) / 2, angle};
  }
  // A power of 2, so that the modulus neither overflows nor is subnormal.
  const P factor = large > 1 ? P(0.5) : P(18014398509481984);  // 2^54
  const P log_factor = large > 1 ? -ln2<P>() : 54 * ln2<P>();
  if (large < P(1e-30) || large > P(1e30)) {
    return {::log(::hypot(factor * z.re, factor * z.im)) - log_factor, angle};
  }
  return {::log(::hypot(z.re, z.im)), angle};
}

template <typename P>
Complex<P> log2(Complex<P> z) {
  return scale(log(z), log2_e<P>());
}
template <typename P>
Complex<P> log10(Complex<P> z) {
  return scale(log(z), log10_e<P>());
}
template <typename P>
Complex<P> log1p(Complex<P> z) {
  return {::log(::hypot(z.re + 1, z.im)), ::atan2(z.im, z.re + 1)};
}

// --- roots and powers

template <typename P>
Complex<P> sqrt_of_finite(Complex<P> z) {
  if (z.im == 0) {
    const P root = ::sqrt(::fabs(z.re));
    return z.re < 0 ? Complex<P>{P(0), ::copysign(root, z.im)} : Complex<P>{root, z.im};
  }
  // Powers of 4, so that neither the modulus nor its root leaves the range.
  const P large = ::fabs(z.re) > ::fabs(z.im) ? ::fabs(z.re) : ::fabs(z.im);
  const P factor = large > 1 ? P(0.0625) : P(18014398509481984);  // 2^54
  const P back = large > 1 ? P(4) : P(1) / 134217728;             // 2^-27
  const Complex<P> w = scale(z, factor);
  const P root = ::sqrt((::fabs(w.re) + ::hypot(w.re, w.im)) / 2), other = w.im / root / 2;
  const Complex<P> result =
      w.re < 0 ? Complex<P>{::fabs(other), ::copysign(root, w.im)} : Complex<P>{root, other};
  return scale(result, back);
}

template <typename P>
Complex<P> sqrt(Complex<P> z) {
  if (isinf(z.im)) return {::fabs(z.im), z.im};
  if (isnan(z.re)) return {z.re, z.re};
  if (!isinf(z.re)) return isnan(z.im) ? Complex<P>{z.im, z.im} : sqrt_of_finite(z);
  const P none = isnan(z.im) ? z.im : P(0);
  if (z.re < 0) return {none, ::copysign(z.re, z.im)};
  return {z.re, ::copysign(none, z.im)};
}

/// Each term rounded.
template <typename P>
Complex<P> product(Complex<P> x, Complex<P> y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

/// To a whole power below 100, by squaring. Powers up to 3 never multiply by 1, which would make
/// NaN of infinite parts.
template <typename P>
Complex<P> whole_power(Complex<P> base, int exponent) {
  if (exponent == 1) return base;
  if (exponent == 2) return product(base, base);
  if (exponent == 3) return product(base, product(base, base));
  Complex<P> result{P(1), P(0)};
  for (int rest = exponent < 0 ? -exponent : exponent;; base = product(base, base)) {
    if (rest & 1) result = product(result, base);
    rest >>= 1;
    if (!rest) break;
  }
  return exponent < 0 ? divide(Complex<P>{P(1), P(0)}, result) : result;
}

template <typename P>
Complex<P> without_nan(Complex<P> z) {
  return {isnan(z.re) ? ::copysign(P(0), z.re) : z.re, isnan(z.im) ? ::copysign(P(0), z.im) : z.im};
}
/// Of an infinite number: 1 where it is infinite, else 0, with its signs.
template <typename P>
Complex<P> direction(Complex<P> z) {
  return {::copysign(P(isinf(z.re)), z.re), ::copysign(P(isinf(z.im)), z.im)};
}

/// C's product (Annex G): not NaN where a factor or a term is infinite.
template <typename P>
Complex<P> annex_g_product(Complex<P> x, Complex<P> y) {
  const Complex<P> plain = product(x, y);
  if (!isnan(plain.re) || !isnan(plain.im)) return plain;
  const bool terms =
      isinf(x.re * y.re) || isinf(x.im * y.im) || isinf(x.re * y.im) || isinf(x.im * y.re);
  if (!isinf(x) && !isinf(y) && !terms) return plain;
  const Complex<P> a = isinf(x) ? direction(x) : without_nan(x);
  const Complex<P> b = isinf(y) ? direction(y) : without_nan(y);
  return scale(product(a, b), 1 / P(0));
}

template <typename P>
bool is_negative_power(Complex<P>, Complex<P>) {
  return false;
}

template <typename P>
Complex<P> pow(Complex<P> x, Complex<P> y) {
  if (y.re == 0 && y.im == 0) return {P(1), P(0)};
  if (x.re == 0 && x.im == 0) {
    if (y.re > 0) return {P(0), P(0)};
    return {P(0) / P(0), P(0) / P(0)};
  }
  if (y.im == 0 && ::fabs(y.re) < 100 && ::trunc(y.re) == y.re) return whole_power(x, int(y.re));
  return exp(annex_g_product(y, log(x)));
}

// --- hyperbolic functions

/// {cosh(x) * c, sinh(x) * s}, without overflow on the way.
template <typename P>
Complex<P> cosh_sinh_times(P x, P c, P s) {
  if (::fabs(x) <= large_exponent<P>()) return {::cosh(x) * c, ::sinh(x) * s};
  return exp_times(::fabs(x), c, ::copysign(P(1), x) * s, P(0.5));
}

template <typename P>
Complex<P> cosh(Complex<P> z) {
  const P undefined = z.im - z.im;
  if (z.im == 0) return {::cosh(z.re), isnan(z.re) ? z.im : z.im * ::copysign(P(1), z.re)};
  if (isnan(z.re)) return {z.re, z.re};
  if (!isfinite(z.im)) {
    return {isinf(z.re) ? ::fabs(z.re) : undefined, z.re == 0 ? P(0) : undefined};
  }
  if (isinf(z.re)) return {::copysign(::fabs(z.re), ::cos(z.im)), z.re * ::sin(z.im)};
  return cosh_sinh_times(z.re, ::cos(z.im), ::sin(z.im));
}

template <typename P>
Complex<P> sinh(Complex<P> z) {
  const P undefined = z.im - z.im;
  if (z.im == 0) return {::sinh(z.re), z.im};
  if (isnan(z.re)) return {z.re, z.re};
  if (!isfinite(z.im)) return {isinf(z.re) || z.re == 0 ? z.re : undefined, undefined};
  if (isinf(z.re)) return {z.re * ::cos(z.im), ::copysign(z.re, ::sin(z.im))};
  const Complex<P> turned = cosh_sinh_times(z.re, ::sin(z.im), ::cos(z.im));
  return {turned.im, turned.re};
}

template <typename P>
Complex<P> tanh(Complex<P> z) {
  const P c = ::cos(z.im), s = ::sin(z.im);
  if (isinf(z.re)) {
    const P sign = isfinite(z.im) && ::fabs(z.im) > 1 ? s * c : z.im;
    return {::copysign(P(1), z.re), ::copysign(P(0), sign)};
  }
  if (z.im == 0) return {::tanh(z.re), z.im};
  if (isnan(z.re) || !isfinite(z.im)) return {z.re == 0 ? z.re : P(0) / P(0), P(0) / P(0)};
  if (::fabs(z.re) > large_exponent<P>() / 2) {
    return {::copysign(P(1), z.re), 4 * s * c * ::exp(-2 * ::fabs(z.re))};
  }
  const P sinh = ::sinh(z.re), cosh = ::cosh(z.re), size = sinh * sinh + c * c;
  return {sinh * cosh / size, s * c / size};
}

// --- the array API standard's special values, where NumPy has others

template <typename P>
Complex<P> standard_expm1(Complex<P> z) {
  if (z.im == 0 && (z.re == 0 || isnan(z.re) || (isinf(z.re) && z.re > 0))) {
    return {z.re == 0 ? P(0) : z.re, z.im};
  }
  if (isinf(z.re) && !isfinite(z.im)) {
    return z.re > 0 ? Complex<P>{z.re, P(0) / P(0)} : Complex<P>{P(-1), P(0)};
  }
  return expm1(z);
}
template <typename P>
Complex<P> standard_tanh(Complex<P> z) {
  if (!isinf(z.re) || !isfinite(z.im)) return tanh(z);
  return {::copysign(P(1), z.re), ::copysign(P(0), z.im)};
}

// --- trigonometric functions, by i * z

template <typename P>
Complex<P> times_i(Complex<P> z) {
  return {-z.im, z.re};
}
template <typename P>
Complex<P> over_i(Complex<P> z) {
  return {z.im, -z.re};
}
template <typename P>
Complex<P> sin(Complex<P> z) {
  return over_i(sinh(times_i(z)));
}
template <typename P>
Complex<P> cos(Complex<P> z) {
  return cosh(times_i(z));
}
template <typename P>
Complex<P> tan(Complex<P> z) {
  return over_i(tanh(times_i(z)));
}

}  // namespace ofl
