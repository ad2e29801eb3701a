// Float32 exp, log, sin and cos with the bits of NumPy's loops, whose polynomials these are
// (licenses/numpy.txt). For any Lanes; see lanes256.h.
//
// Three things decide a bit: the reduction of the range, the coefficients, and the roundings: where
// a product and a sum are one fused operation, and in which order. These are NumPy's.
//
// A function has: key(x), an unsigned number for each lane, at most kLimit where common() is right;
// common(x), for `count` vectors at a time, without branches and masks; any(x), for every input.
#pragma once

namespace ofl::ops::float_functions {

namespace {

/// 1.5 * 2^23: a sum with it is rounded to an integer, which its low bits hold.
constexpr float kRounding = 12582912.0f;
constexpr uint32_t kQuietNan = 0x7fc00000;  // what any NaN becomes
constexpr uint32_t kInfinity = 0x7f800000;
constexpr uint32_t kSign = 0x80000000;
constexpr uint32_t kLeastNormal = 0x00800000;

template <typename V>
OFL_INLINE typename V::Floats of_bits(uint32_t bits) {
  return V::as_floats(V::all_bits(bits));
}

template <typename V>
OFL_INLINE typename V::Floats magnitude(typename V::Floats x) {
  return V::as_floats(V::bits_and(V::as_ints(x), V::all_bits(~kSign)));
}

/// c[0] + x * (c[1] + x * (...)), a fused operation for each degree, in `count` chains.
template <typename V, int count, int terms>
OFL_INLINE void polynomial(typename V::Floats (&r)[count], const typename V::Floats (&x)[count],
                           const float (&c)[terms]) {
  for (int j = 0; j < count; ++j) {
    r[j] = V::fused(V::all(c[terms - 1]), x[j], V::all(c[terms - 2]));
  }
  for (int k = terms - 3; k >= 0; --k) {
    for (int j = 0; j < count; ++j) r[j] = V::fused(r[j], x[j], V::all(c[k]));
  }
}

/// 2^k * P(y) / Q(y), with k the integer at x / ln 2, and y = x - k ln 2 (ln 2 in two parts).
template <typename V>
struct Exp {
  using Floats = typename V::Floats;
  using Ints = typename V::Ints;
  static constexpr uint32_t kLimit = 0x42ac0000;  // 86: up to there the result is a normal number

  static OFL_INLINE Ints key(Floats x) { return V::as_ints(magnitude<V>(x)); }

  /// x becomes P / Q; t: k + kRounding.
  template <int count>
  static OFL_INLINE void reduce(Floats (&x)[count], Floats (&t)[count]) {
    constexpr float kAbove[] = {9.999999999980870924916e-01f, 7.257664613233124478488e-01f,
                                2.473615434895520810817e-01f, 5.114512081637298353406e-02f,
                                6.757896990527504603057e-03f, 5.082762527590693718096e-04f};
    constexpr float kBelow[] = {1.0f, -2.742335390411667452936e-01f, 2.159509375685829852307e-02f};
    Floats above[count], below[count];
    // Not fused, while it is in sines: fused, 84 of the 2^32 inputs would get another k.
    for (int j = 0; j < count; ++j) {
      t[j] = V::add(V::multiply(x[j], V::all(1.442695040888963407f)), V::all(kRounding));
    }
    for (int j = 0; j < count; ++j) {
      const Floats k = V::subtract(t[j], V::all(kRounding));
      x[j] = V::fused(k, V::all(-1.42860677e-6f), V::fused(k, V::all(-6.93145752e-1f), x[j]));
    }
    polynomial<V>(below, x, kBelow);
    polynomial<V>(above, x, kAbove);
    for (int j = 0; j < count; ++j) x[j] = V::divide(above[j], below[j]);
  }

  template <int count>
  static OFL_INLINE void common(Floats (&x)[count]) {
    Floats t[count];
    reduce(x, t);
    for (int j = 0; j < count; ++j) {  // the low bits of t, which are k, go to the exponent
      const Ints k = V::template left<23>(V::as_ints(t[j]));
      x[j] = V::as_floats(V::add(V::as_ints(x[j]), k));
    }
  }

  static OFL_INLINE Floats any(Floats x) {
    const auto high = V::at_most(V::all(88.72283935546875f), x);
    const auto inside = V::and_not(V::less(V::all(-103.97208404541015625f), x), high);
    Floats part[1] = {V::keep(inside, x)}, t[1];
    reduce(part, t);
    // 2^k in two factors, the first at least 2^-125: so a denormal result is rounded once.
    const Floats k = V::subtract(t[0], V::all(kRounding));
    const Ints first = V::to_ints(V::largest(k, V::all(-125.0f)));
    const Ints second = V::to_ints(V::least(V::add(k, V::all(125.0f)), V::all(0.0f)));
    Floats r = V::as_floats(V::add(V::as_ints(part[0]), V::template left<23>(first)));
    const Ints exponent = V::add(second, V::all_bits(127));
    r = V::multiply(r, V::as_floats(V::template left<23>(exponent)));
    r = V::select(high, of_bits<V>(kInfinity), V::keep(inside, r));
    return V::select(V::unordered(x), of_bits<V>(kQuietNan), r);
  }
};

/// k ln 2 + P(y) / Q(y), with x = 2^k * (1 + y), and 1 + y above sqrt(1/2), up to sqrt(2).
template <typename V>
struct Log {
  using Floats = typename V::Floats;
  using Ints = typename V::Ints;
  static constexpr uint32_t kLimit = 0x7effffff;  // the key of the largest finite number

  /// 0 for the smallest normal number.
  static OFL_INLINE Ints key(Floats x) {
    return V::subtract(V::as_ints(x), V::all_bits(kLeastNormal));
  }

  /// x becomes its logarithm, and `more` times ln 2.
  template <int count>
  static OFL_INLINE void reduce(Floats (&x)[count], Floats more) {
    constexpr float kAbove[] = {0.0f,
                                9.999999999999998702752e-01f,
                                2.112677543073053063722e+00f,
                                1.480000633576506585156e+00f,
                                3.808837741388407920751e-01f,
                                2.589979117907922693523e-02f};
    constexpr float kBelow[] = {1.0f,
                                2.612677543073109236779e+00f,
                                2.453006071784736363091e+00f,
                                9.864942958519418960339e-01f,
                                1.546476374983906719538e-01f,
                                5.875095403124574342950e-03f};
    Floats k[count], above[count], below[count];
    for (int j = 0; j < count; ++j) {
      // Counted from the float after sqrt(1/2), the exponent is k without a comparison.
      const Ints from = V::subtract(V::as_ints(x[j]), V::all_bits(0x3f3504f4));
      k[j] = V::add(V::to_floats(V::template right<23>(from)), more);
      const Ints scale = V::bits_and(from, V::all_bits(0xff800000));
      x[j] = V::subtract(V::as_floats(V::subtract(V::as_ints(x[j]), scale)), V::all(1.0f));
    }
    polynomial<V>(below, x, kBelow);
    polynomial<V>(above, x, kAbove);
    for (int j = 0; j < count; ++j) {
      x[j] = V::fused(k[j], V::all(0.693147180559945309417f), V::divide(above[j], below[j]));
    }
  }

  template <int count>
  static OFL_INLINE void common(Floats (&x)[count]) {
    reduce(x, V::all(0.0f));
  }

  static OFL_INLINE Floats any(Floats x) {
    const auto denormal = V::less(x, of_bits<V>(kLeastNormal));  // or 0, or below
    Floats r[1] = {V::select(denormal, V::multiply(x, V::all(0x1p100f)), x)};
    reduce(r, V::keep(denormal, V::all(-100.0f)));
    r[0] = V::select(V::unordered(x), of_bits<V>(kQuietNan), r[0]);
    r[0] = V::select(V::less(x, V::all(0.0f)), of_bits<V>(kSign | kQuietNan), r[0]);
    r[0] = V::select(V::equal(x, V::all(0.0f)), of_bits<V>(kSign | kInfinity), r[0]);
    return V::select(V::equal(x, of_bits<V>(kInfinity)), x, r[0]);
  }
};

/// sin, or cos: k is the integer at x * 2 / pi, and y = x - k pi / 2 (pi / 2 in three parts). The
/// low two bits of k, for cos of k + 1, say which of two polynomials it is, and the sign. Larger
/// arguments are libm's, as they are NumPy's.
template <typename V, bool cosine>
struct Sine {
  using Floats = typename V::Floats;
  using Ints = typename V::Ints;
  static constexpr uint32_t kLimit = cosine ? 0x478b9a08 : 0x47e55dff;  // 71476.0625, 117435.992

  static OFL_INLINE Ints key(Floats x) { return V::as_ints(magnitude<V>(x)); }

  template <int count>
  static OFL_INLINE void common(Floats (&x)[count]) {
    constexpr float kEven[] = {1.0f, -0.5f, 0x1.55553cp-05f, -0x1.6c06dcp-10f, 0x1.98e616p-16f};
    constexpr float kOdd[] = {0.0f, -0x1.555556p-03f, 0x1.11119ap-07f, -0x1.a06bbap-13f,
                              0x1.7d3bbcp-19f};
    Floats t[count], square[count], even[count], odd[count];
    for (int j = 0; j < count; ++j) {
      t[j] = V::fused(x[j], V::all(0x1.45f306p-1f), V::all(kRounding));
    }
    for (int j = 0; j < count; ++j) {
      const Floats k = V::subtract(t[j], V::all(kRounding));
      x[j] = V::fused(k, V::all(-0x1.921fb0p+00f), x[j]);
      x[j] = V::fused(k, V::all(-0x1.5110b4p-22f), x[j]);
      x[j] = V::fused(k, V::all(-0x1.846988p-48f), x[j]);
      square[j] = V::multiply(x[j], x[j]);
    }
    polynomial<V>(even, square, kEven);
    polynomial<V>(odd, square, kOdd);
    for (int j = 0; j < count; ++j) {
      const Floats sine = V::fused(odd[j], x[j], x[j]);
      const Ints k = V::add(V::as_ints(t[j]), V::all_bits(cosine ? 1 : 0));
      const Floats r = V::select_by_sign(V::template left<31>(k), even[j], sine);
      const Ints sign = V::bits_and(V::template left<30>(k), V::all_bits(kSign));
      x[j] = V::as_floats(V::bits_xor(V::as_ints(r), sign));
    }
  }

  static OFL_INLINE Floats any(Floats x) {
    const auto inside = V::at_most(magnitude<V>(x), of_bits<V>(kLimit));
    Floats part[1] = {V::keep(inside, x)};
    common(part);
    const Floats r = V::select(V::unordered(x), of_bits<V>(kQuietNan), part[0]);
    const unsigned large = V::lanes_of(V::less(of_bits<V>(kLimit), magnitude<V>(x)));
    if (large == 0) return r;
    float in[V::kLanes], out[V::kLanes];
    V::store(in, x);
    V::store(out, r);
    for (int j = 0; j < V::kLanes; ++j) {
      if (large >> j & 1) out[j] = cosine ? std::cos(in[j]) : std::sin(in[j]);
    }
    return V::load(out);
  }
};

}  // namespace

}  // namespace ofl::ops::float_functions
