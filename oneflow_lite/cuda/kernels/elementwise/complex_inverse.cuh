// Inverse trigonometric and hyperbolic functions of complex numbers: W. Kahan, Branch cuts for
// complex elementary functions (1987), with the special values of C's Annex G. Signs of zeros tell
// the two sides of a cut apart, so 1 - z is {1 - re, -im}.

namespace ofl {

/// Beyond, sqrt(z * z - 1) is z.
template <typename P>
bool is_far(Complex<P> z) {
  const P far = Same<P, float>::type ? P(1e8) : P(1e17);
  return ::fabs(z.re) > far || ::fabs(z.im) > far;
}

/// Of a number that is not finite, with a NaN.
template <typename P>
Complex<P> acos_of_nan(Complex<P> z) {
  const P nan = z.re + z.im;
  if (isinf(z.re)) return {nan, z.re};
  if (isinf(z.im)) return {nan, -z.im};
  if (z.re == 0) return {pi<P>() / 2, nan};
  return {nan, nan};
}

template <typename P>
Complex<P> acos(Complex<P> z) {
  if (isnan(z)) return acos_of_nan(z);
  if (is_far(z)) {
    return {::atan2(::fabs(z.im), z.re), ::copysign(log(z).re + ln2<P>(), -z.im)};
  }
  const Complex<P> below = sqrt(Complex<P>{1 - z.re, -z.im});
  const Complex<P> above = sqrt(Complex<P>{1 + z.re, z.im});
  return {2 * ::atan2(below.re, above.re), ::asinh(above.re * below.im - above.im * below.re)};
}

template <typename P>
Complex<P> acosh(Complex<P> z) {
  const Complex<P> turned = acos(z);
  return {::fabs(turned.im), ::copysign(turned.re, z.im)};
}

/// asin of a number that is neither far nor NaN.
template <typename P>
Complex<P> asin_near(Complex<P> z) {
  if (::fabs(z.re) < P(1e-8) && ::fabs(z.im) < P(1e-8)) return z;  // subnormal parts, too
  const Complex<P> below = sqrt(Complex<P>{1 - z.re, -z.im});
  const Complex<P> above = sqrt(Complex<P>{1 + z.re, z.im});
  return {::atan2(z.re, below.re * above.re - below.im * above.im),
          ::asinh(below.re * above.im - below.im * above.re)};
}

template <typename P>
Complex<P> asinh(Complex<P> z) {
  if (isnan(z)) {
    const P nan = z.re + z.im;
    if (isinf(z.re)) return {z.re, nan};
    if (isinf(z.im)) return {z.im, nan};
    return {nan, z.im == 0 ? z.im : nan};
  }
  if (is_far(z)) {
    return {::copysign(log(z).re + ln2<P>(), z.re), ::atan2(z.im, ::fabs(z.re))};
  }
  return times_i(asin_near(over_i(z)));
}

template <typename P>
Complex<P> asin(Complex<P> z) {
  return over_i(asinh(times_i(z)));
}

/// atanh of a number that is neither far nor NaN, where x >= 0.
template <typename P>
Complex<P> atanh_near(P x, P y) {
  if (x == 1 && ::fabs(y) < P(1e-15)) {
    return {(ln2<P>() - ::log(::fabs(y))) / 2, y == 0 ? y : ::copysign(pi<P>() / 4, y)};
  }
  const P rest = 1 - x;
  return {::log1p(4 * x / (rest * rest + y * y)) / 4, ::atan2(2 * y, rest * (1 + x) - y * y) / 2};
}

template <typename P>
Complex<P> atanh(Complex<P> z) {
  const P sign = ::copysign(P(1), z.re);
  if (isnan(z) && !isinf(z.im)) {
    const P nan = z.re + z.im;
    if (isinf(z.re)) return {::copysign(P(0), z.re), nan};
    return {z.re == 0 ? z.re : nan, nan};
  }
  if (is_far(z)) {
    const P size = ::hypot(z.re / 2, z.im / 2);
    const P part = isinf(z) ? ::copysign(P(0), z.re) : z.re / 2 / size / size / 2;
    return {part, ::copysign(pi<P>() / 2, z.im)};
  }
  const Complex<P> near = atanh_near(::fabs(z.re), z.im);
  return {sign * near.re, near.im};
}

template <typename P>
Complex<P> atan(Complex<P> z) {
  return over_i(atanh(times_i(z)));
}

}  // namespace ofl
