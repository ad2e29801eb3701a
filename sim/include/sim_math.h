// Mathematical functions: the C library's, by CUDA's names and overloads. Not CUDA's bits.
#ifndef SIM_MATH_H_
#define SIM_MATH_H_

// One argument: f(double), ff(float), and the overload f(float) of C++.
#define SIM_UNARY(row)                                                                             \
  row(sin) row(cos) row(tan) row(asin) row(acos) row(atan) row(sinh) row(cosh) row(tanh)           \
      row(asinh) row(acosh) row(atanh) row(exp) row(exp2) row(expm1) row(log) row(log2) row(log10) \
          row(log1p) row(sqrt) row(cbrt) row(erf) row(erfc) row(lgamma) row(tgamma) row(rint)      \
              row(nearbyint) row(round) row(trunc) row(floor) row(ceil) row(fabs) row(logb)        \
                  row(j0) row(j1) row(y0) row(y1)
#define SIM_BINARY(row)                                                                          \
  row(pow) row(atan2) row(fmod) row(remainder) row(nextafter) row(copysign) row(hypot) row(fmax) \
      row(fmin) row(fdim)

#define SIM_DECLARE(name)                   \
  extern "C" double name(double) noexcept;  \
  extern "C" float name##f(float) noexcept; \
  inline float name(float x) { return name##f(x); }
SIM_UNARY(SIM_DECLARE)
#undef SIM_DECLARE

#define SIM_DECLARE(name)                          \
  extern "C" double name(double, double) noexcept; \
  extern "C" float name##f(float, float) noexcept; \
  inline float name(float x, float y) { return name##f(x, y); }
SIM_BINARY(SIM_DECLARE)
#undef SIM_DECLARE

extern "C" {
double fma(double, double, double) noexcept;
float fmaf(float, float, float) noexcept;
double ldexp(double, int) noexcept;
float ldexpf(float, int) noexcept;
double scalbn(double, int) noexcept;
float scalbnf(float, int) noexcept;
double frexp(double, int*) noexcept;
float frexpf(float, int*) noexcept;
double modf(double, double*) noexcept;
float modff(float, float*) noexcept;
double remquo(double, double, int*) noexcept;
float remquof(float, float, int*) noexcept;
int ilogb(double) noexcept;
int ilogbf(float) noexcept;
long lrint(double) noexcept;
long lrintf(float) noexcept;
long long llrint(double) noexcept;
long long llrintf(float) noexcept;
long long llround(double) noexcept;
long long llroundf(float) noexcept;
void sincos(double, double*, double*) noexcept;
void sincosf(float, float*, float*) noexcept;
int abs(int) noexcept;
long labs(long) noexcept;
long long llabs(long long) noexcept;
}
inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
inline float ldexp(float x, int e) { return ldexpf(x, e); }
inline float scalbn(float x, int e) { return scalbnf(x, e); }
inline float frexp(float x, int* e) { return frexpf(x, e); }
inline float modf(float x, float* whole) { return modff(x, whole); }
inline int ilogb(float x) { return ilogbf(x); }
inline long lrint(float x) { return lrintf(x); }
inline long long llrint(float x) { return llrintf(x); }
inline void sincos(float x, float* s, float* c) { sincosf(x, s, c); }
inline float abs(float x) { return fabsf(x); }
inline double abs(double x) { return fabs(x); }
inline long abs(long x) { return labs(x); }
inline long long abs(long long x) { return llabs(x); }
inline float pow(float x, int y) { return powf(x, float(y)); }
inline double pow(double x, int y) { return pow(x, double(y)); }

inline double rsqrt(double x) { return 1 / sqrt(x); }
inline float rsqrtf(float x) { return 1 / sqrtf(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline double rcbrt(double x) { return 1 / cbrt(x); }
inline float rcbrtf(float x) { return 1 / cbrtf(x); }
inline double exp10(double x) { return pow(10.0, x); }
inline float exp10f(float x) { return powf(10.0f, x); }
inline float exp10(float x) { return exp10f(x); }
inline double sinpi(double x) { return sin(3.141592653589793 * remainder(x, 2.0)); }
inline float sinpif(float x) { return float(sinpi(double(x))); }
inline double cospi(double x) { return cos(3.141592653589793 * remainder(x, 2.0)); }
inline float cospif(float x) { return float(cospi(double(x))); }
inline double normcdf(double x) { return 0.5 * erfc(-0.7071067811865476 * x); }
inline float normcdff(float x) { return float(normcdf(double(x))); }
inline float fdividef(float x, float y) { return x / y; }
inline float __fdividef(float x, float y) { return x / y; }
inline float __frsqrt_rn(float x) { return 1 / sqrtf(x); }
inline float __expf(float x) { return expf(x); }
inline float __exp10f(float x) { return exp10f(x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }

#define SIM_CLASSIFY(type)                                           \
  inline bool isnan(type x) { return __builtin_isnan(x); }           \
  inline bool isinf(type x) { return __builtin_isinf_sign(x) != 0; } \
  inline bool isfinite(type x) { return __builtin_isfinite(x); }     \
  inline bool signbit(type x) { return __builtin_signbit(x) != 0; }
SIM_CLASSIFY(float)
SIM_CLASSIFY(double)
#undef SIM_CLASSIFY

#define SIM_MIN_MAX(type)                                   \
  inline type min(type a, type b) { return b < a ? b : a; } \
  inline type max(type a, type b) { return a < b ? b : a; }
SIM_MIN_MAX(int)
SIM_MIN_MAX(unsigned)
SIM_MIN_MAX(long)
SIM_MIN_MAX(unsigned long)
SIM_MIN_MAX(long long)
SIM_MIN_MAX(unsigned long long)
#undef SIM_MIN_MAX
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

#endif
