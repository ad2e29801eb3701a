// Random numbers by counting: number i of a draw is a function of key, counter and i. The compilers
// of the host and of a device both read this text. All of it is plain arithmetic that is not
// contracted, with roundings that IEEE 754 fixes: the bits are the same on every device.
//
// Philox4x32-10: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as
// easy as 1, 2, 3", SC 2011.
#pragma once

namespace ofl {
namespace philox {

typedef unsigned int Word;
typedef unsigned long long Word64;

// What only one of the two compilers has.
#ifdef __CUDACC_RTC__
inline Word64 high_product(Word64 x, Word64 y) { return __umul64hi(x, y); }
inline float float_of(Word bits) { return __uint_as_float(bits); }
inline Word bits_of(float x) { return __float_as_uint(x); }
inline double double_of(Word64 bits) { return __longlong_as_double((long long)bits); }
inline Word64 bits_of(double x) { return (Word64)__double_as_longlong(x); }
inline float root(float x) { return __fsqrt_rn(x); }
inline double root(double x) { return __dsqrt_rn(x); }
#else
inline Word64 high_product(Word64 x, Word64 y) {
  return Word64(static_cast<unsigned __int128>(x) * y >> 64);
}
template <typename To, typename From>
inline To same_bits(From from) {
  To to;
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}
inline float float_of(Word bits) { return same_bits<float>(bits); }
inline Word bits_of(float x) { return same_bits<Word>(x); }
inline double double_of(Word64 bits) { return same_bits<double>(bits); }
inline Word64 bits_of(double x) { return same_bits<Word64>(x); }
inline float root(float x) { return __builtin_sqrtf(x); }
inline double root(double x) { return __builtin_sqrt(x); }
#endif

/// Four words for each counter of 128 bits.
struct Block {
  Word word[4];
};

inline Block block_of(Word64 key, Word64 low, Word64 high) {
  enum : Word { factor_0 = 0xD2511F53u, factor_1 = 0xCD9E8D57u };  // the multipliers of the paper
  enum : Word { step_0 = 0x9E3779B9u, step_1 = 0xBB67AE85u };      // the golden ratio, sqrt(3) - 1
  Word key_0 = Word(key), key_1 = Word(key >> 32);
  Word x0 = Word(low), x1 = Word(low >> 32), x2 = Word(high), x3 = Word(high >> 32);
#ifdef __CUDACC_RTC__
#pragma unroll
#else
#pragma GCC unroll 10
#endif
  for (int round = 0; round < 10; ++round) {
    const Word64 product_0 = Word64(factor_0) * x0, product_1 = Word64(factor_1) * x2;
    x0 = Word(product_1 >> 32) ^ x1 ^ key_0;
    x1 = Word(product_1);
    x2 = Word(product_0 >> 32) ^ x3 ^ key_1;
    x3 = Word(product_0);
    key_0 += step_0;
    key_1 += step_1;
  }
  return {{x0, x1, x2, x3}};
}

// --- [0, 1): as many bits as the type has

inline float unit_float(Word word) { return float(word >> 8) * 0x1p-24f; }
/// In two halves, both exact: vectors convert words of 32 bits only.
inline double unit_double(Word64 word) {
  return double(Word(word >> 32)) * 0x1p-32 + double(int(word >> 11) & 0x1fffff) * 0x1p-53;
}
/// Of float16, which has 11 bits.
inline float unit_half(Word word) { return float(word >> 21) * 0x1p-11f; }

// --- logarithms of normal numbers in (0, 1]: the argument is 2^e (1 + f) with 1 + f near 1, and
// log(1 + f) is 2 atanh(s), s = f / (2 + f). Coefficients: FreeBSD's msun, e_logf.c and e_log.c.

inline float logarithm(float x) {
  const Word shifted = bits_of(x) - 0x3f3504f3u + 0x3f800000u;  // sqrt(1/2) becomes 1
  const float e = float(int(shifted >> 23) - 127);
  const float f = float_of((shifted & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
  const float s = f / (2.0f + f), z = s * s, w = z * z;
  const float even = w * (0.40000972152f + w * 0.24279078841f);
  const float odd = z * (0.66666662693f + w * 0.28498786688f);
  const float half = 0.5f * f * f;
  return e * 6.9313812256e-01f - (half - (s * (half + (odd + even)) + e * 9.0580006145e-06f) - f);
}

inline double logarithm(double x) {
  const Word64 shifted = bits_of(x) - 0x3fe6a09e00000000ull + 0x3ff0000000000000ull;
  const double e = double(int(shifted >> 52) - 1023);
  const double f = double_of((shifted & 0xfffffffffffffull) + 0x3fe6a09e00000000ull) - 1.0;
  const double s = f / (2.0 + f), z = s * s, w = z * z;
  const double even = w * (3.999999999940941908e-01 +
                           w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const double odd = z * (6.666666666666735130e-01 +
                          w * (2.857142874366239149e-01 +
                               w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  const double half = 0.5 * f * f;
  return e * 6.93147180369123816490e-01 -
         (half - (s * (half + (odd + even)) + e * 1.90821492927058770002e-10) - f);
}

/// Of mean 1, at least 0.
inline float exponential_float(Word word) {
  return 0.0f - logarithm(float(word) * 0x1p-32f + 0x1p-33f);
}
inline double exponential_double(Word64 word) {
  return 0.0 - logarithm(unit_double(word) + 0x1p-54);
}

/// x where the mask is all ones, y where it is 0. Compilers make branches of what is written as
/// `?:`.
inline float chosen(Word mask, float x, float y) {
  return float_of((bits_of(x) & mask) | (bits_of(y) & ~mask));
}
inline double chosen(Word64 mask, double x, double y) {
  return double_of((bits_of(x) & mask) | (bits_of(y) & ~mask));
}

// --- normally distributed numbers, by the inverse of their distribution function: M. J. Wichura,
// algorithm AS 241, Applied Statistics 37 (1988). `q` is the probability less 1/2, `tail` that of
// what is farther out. Both forms of the approximation are one quotient whose coefficients depend
// on the argument: the threads of a warp, and the lanes of a vector, do the same.

inline float normal_float(Word word) {
  const Word sign = word >> 31;
  const int outward = int((word ^ (0 - sign)) & 0x7fffffffu);  // 0: at the middle
  const float distance = (float(outward) + 0.5f) * 0x1p-32f;
  const float tail = (float(0x7fffffff - outward) + 0.5f) * 0x1p-32f;
  const Word inner = 0 - Word(distance <= 0.425f);
  const float near = 0.180625f - distance * distance;
  const float away = root(0.0f - logarithm(tail)) - 1.6f;
  const float r = chosen(inner, near, away);
  const float above = ((chosen(inner, 5.9109374720e+1f, 1.7023821103e-1f) * r +
                        chosen(inner, 1.5929113202e+2f, 1.3067284816e+0f)) *
                           r +
                       chosen(inner, 5.0434271938e+1f, 2.7568153900e+0f)) *
                          r +
                      chosen(inner, 3.3871327179e+0f, 1.4234372777e+0f);
  const float below = ((chosen(inner, 6.7187563600e+1f, 0.0f) * r +
                        chosen(inner, 7.8757757664e+1f, 1.2021132975e-1f)) *
                           r +
                       chosen(inner, 1.7895169469e+1f, 7.3700164250e-1f)) *
                          r +
                      1.0f;
  const float size = chosen(inner, distance, 1.0f) * above / below;
  return float_of(bits_of(size) ^ sign << 31);
}

/// A row: the coefficient where the number is in the middle, in the tail, far out.
#define OFL_CHOOSE(x, y, z) chosen(inner, x, chosen(far, z, y))

inline double normal_double(Word64 word) {
  const Word64 sign = word >> 63;
  const Word64 folded = word ^ (0 - sign);
  const double outward =  // below 2^53, 0: at the middle
      double(int(folded >> 32)) * 0x1p22 + double(int(folded >> 10) & 0x3fffff);
  const double distance = (outward + 0.5) * 0x1p-54;
  const double tail = (0x1.fffffffffffffp52 - outward + 0.5) * 0x1p-54;
  const Word64 inner = 0 - Word64(distance <= 0.425);
  const double depth = root(0.0 - logarithm(tail));
  const Word64 far = 0 - Word64(depth > 5.0);
  const double near = 0.180625 - distance * distance;
  const double away = depth - chosen(far, 5.0, 1.6);
  const double r = chosen(inner, near, away);
  double above =
      OFL_CHOOSE(2.5090809287301226727e+3, 7.74545014278341407640e-4, 2.01033439929228813265e-7);
  above = above * r + OFL_CHOOSE(3.3430575583588128105e+4, 2.27238449892691845833e-2,
                                 2.71155556874348757815e-5);
  above = above * r + OFL_CHOOSE(6.7265770927008700853e+4, 2.41780725177450611770e-1,
                                 1.24266094738807843860e-3);
  above = above * r + OFL_CHOOSE(4.5921953931549871457e+4, 1.27045825245236838258e+0,
                                 2.65321895265761230930e-2);
  above = above * r + OFL_CHOOSE(1.3731693765509461125e+4, 3.64784832476320460504e+0,
                                 2.96560571828504891230e-1);
  above = above * r + OFL_CHOOSE(1.9715909503065514427e+3, 5.76949722146069140550e+0,
                                 1.78482653991729133580e+0);
  above = above * r + OFL_CHOOSE(1.3314166789178437745e+2, 4.63033784615654529590e+0,
                                 5.46378491116411436990e+0);
  above = above * r + OFL_CHOOSE(3.3871328727963666080e+0, 1.42343711074968357734e+0,
                                 6.65790464350110377720e+0);
  double below =
      OFL_CHOOSE(5.2264952788528545610e+3, 1.05075007164441684324e-9, 2.04426310338993978564e-15);
  below = below * r + OFL_CHOOSE(2.8729085735721942674e+4, 5.47593808499534494600e-4,
                                 1.42151175831644588870e-7);
  below = below * r + OFL_CHOOSE(3.9307895800092710610e+4, 1.51986665636164571966e-2,
                                 1.84631831751005468180e-5);
  below = below * r + OFL_CHOOSE(2.1213794301586595867e+4, 1.48103976427480074590e-1,
                                 7.86869131145613259100e-4);
  below = below * r + OFL_CHOOSE(5.3941960214247511077e+3, 6.89767334985100004550e-1,
                                 1.48753612908506148525e-2);
  below = below * r + OFL_CHOOSE(6.8718700749205790830e+2, 1.67638483018380384940e+0,
                                 1.36929880922735805310e-1);
  below = below * r + OFL_CHOOSE(4.2313330701600911252e+1, 2.05319162663775882187e+0,
                                 5.99832206555887937690e-1);
  below = below * r + 1.0;
  const double size = chosen(inner, distance, 1.0) * above / below;
  return double_of(bits_of(size) ^ sign << 63);
}
#undef OFL_CHOOSE

// --- integers in [0, range): the high word of a product. Some come out more often than others, by
// a part of 2^-32 at most.

/// `range` is at most 2^32.
inline Word64 below_small(Word64 word, Word64 range) { return high_product(word, range); }
/// Of two words; range 0 stands for 2^64.
inline Word64 below_large(Word64 low, Word64 high, Word64 range) {
  if (range == 0) return high;
  const Word64 carried = high_product(low, range), middle = high * range;
  return high_product(high, range) + (middle + carried < middle);
}

// --- what is drawn: each of these makes a number from its first `words` words

/// Doubles by their bits, or integers; draws say which.
struct Parameters {
  Word64 first, second;
};

struct Words32 {
  enum { words = 1 };
  static Word draw(const Word* word, Parameters) { return word[0]; }
};
inline Word64 joined(Word low, Word high) { return Word64(high) << 32 | low; }
struct Words64 {
  enum { words = 2 };
  static Word64 draw(const Word* word, Parameters) { return joined(word[0], word[1]); }
};

/// x * second + first, in the arithmetic of x.
inline float moved(float x, Parameters to) {
  return x * float(double_of(to.second)) + float(double_of(to.first));
}
inline double moved(double x, Parameters to) {
  return x * double_of(to.second) + double_of(to.first);
}

struct UniformHalf {
  enum { words = 1 };
  static float draw(const Word* word, Parameters to) { return moved(unit_half(word[0]), to); }
};
struct UniformFloat {
  enum { words = 1 };
  static float draw(const Word* word, Parameters to) { return moved(unit_float(word[0]), to); }
};
struct UniformDouble {
  enum { words = 2 };
  static double draw(const Word* word, Parameters to) {
    return moved(unit_double(joined(word[0], word[1])), to);
  }
};
struct NormalFloat {
  enum { words = 1 };
  static float draw(const Word* word, Parameters to) { return moved(normal_float(word[0]), to); }
};
struct NormalDouble {
  enum { words = 2 };
  static double draw(const Word* word, Parameters to) {
    return moved(normal_double(joined(word[0], word[1])), to);
  }
};
struct ExponentialFloat {
  enum { words = 1 };
  static float draw(const Word* word, Parameters to) {
    return moved(exponential_float(word[0]), to);
  }
};
struct ExponentialDouble {
  enum { words = 2 };
  static double draw(const Word* word, Parameters to) {
    return moved(exponential_double(joined(word[0], word[1])), to);
  }
};

/// True `first` times in 2^32.
struct Bernoulli {
  enum { words = 1 };
  static bool draw(const Word* word, Parameters to) { return word[0] < to.first; }
};

/// `first` plus one of `second` numbers; modulo 2^64.
struct SmallRange {
  enum { words = 2 };
  static Word64 draw(const Word* word, Parameters to) {
    return to.first + below_small(joined(word[0], word[1]), to.second);
  }
};
struct LargeRange {
  enum { words = 4 };
  static Word64 draw(const Word* word, Parameters to) {
    return to.first + below_large(joined(word[0], word[1]), joined(word[2], word[3]), to.second);
  }
};

}  // namespace philox
}  // namespace ofl
