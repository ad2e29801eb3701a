// half: storage of 16 bits, arithmetic by the compiler's own type, rounded to nearest even.
#ifndef SIM_CUDA_FP16_H_
#define SIM_CUDA_FP16_H_

#include "sim_cuda.h"

#if !defined(__FLT16_MANT_DIG__)
#error "the compiler has no _Float16: GCC 12 on x86-64, GCC 13 on AArch64 or newer is wanted"
#endif

struct __half_raw {
  unsigned short x;
};

struct __half {
  _Float16 sim_value;

  __half() = default;
  __half(__half_raw raw) : sim_value(sim::bit_cast<_Float16>(raw.x)) {}
  __half(float v) : sim_value(_Float16(v)) {}
  __half(double v) : sim_value(_Float16(v)) {}
  __half(int v) : sim_value(_Float16(v)) {}
  __half(unsigned v) : sim_value(_Float16(v)) {}
  __half(short v) : sim_value(_Float16(v)) {}
  __half(unsigned short v) : sim_value(_Float16(v)) {}
  __half(long v) : sim_value(_Float16(v)) {}
  __half(unsigned long v) : sim_value(_Float16(v)) {}
  __half(long long v) : sim_value(_Float16(v)) {}
  __half(unsigned long long v) : sim_value(_Float16(v)) {}

  operator float() const { return float(sim_value); }
  operator __half_raw() const { return {sim::bit_cast<unsigned short>(sim_value)}; }
};
typedef __half half;

#define SIM_HALF_OPERATOR(op)                                                    \
  inline __half operator op(__half a, __half b) { return float(a) op float(b); } \
  inline __half& operator op##=(__half & a, __half b) { return a = a op b; }
SIM_HALF_OPERATOR(+)
SIM_HALF_OPERATOR(-)
SIM_HALF_OPERATOR(*)
SIM_HALF_OPERATOR(/)
#undef SIM_HALF_OPERATOR
inline __half operator-(__half a) { return -float(a); }
inline __half operator+(__half a) { return a; }

#define SIM_HALF_COMPARISON(op, name)                                          \
  inline bool operator op(__half a, __half b) { return float(a) op float(b); } \
  inline bool name(__half a, __half b) { return a op b; }
SIM_HALF_COMPARISON(==, __heq)
SIM_HALF_COMPARISON(!=, __hne)
SIM_HALF_COMPARISON(<, __hlt)
SIM_HALF_COMPARISON(<=, __hle)
SIM_HALF_COMPARISON(>, __hgt)
SIM_HALF_COMPARISON(>=, __hge)
#undef SIM_HALF_COMPARISON

inline float __half2float(__half v) { return v; }
inline __half __float2half(float v) { return v; }
inline __half __float2half_rn(float v) { return v; }
inline __half __double2half(double v) { return v; }
inline __half __int2half_rn(int v) { return v; }
inline int __half2int_rz(__half v) { return int(float(v)); }
inline int __half2int_rn(__half v) { return __float2int_rn(v); }
inline unsigned short __half_as_ushort(__half v) { return __half_raw(v).x; }
inline __half __ushort_as_half(unsigned short bits) { return __half_raw{bits}; }
inline short __half_as_short(__half v) { return short(__half_as_ushort(v)); }
inline __half __short_as_half(short bits) { return __ushort_as_half((unsigned short)bits); }

inline __half __hadd(__half a, __half b) { return a + b; }
inline __half __hsub(__half a, __half b) { return a - b; }
inline __half __hmul(__half a, __half b) { return a * b; }
inline __half __hdiv(__half a, __half b) { return a / b; }
inline __half __hneg(__half a) { return -a; }
inline __half __habs(__half a) { return fabsf(a); }
inline __half __hfma(__half a, __half b, __half c) {
  return fma(double(float(a)), double(float(b)), double(float(c)));  // exact but for one rounding
}
inline bool __hisnan(__half v) { return isnan(float(v)); }
inline int __hisinf(__half v) { return isinf(float(v)) ? (float(v) > 0 ? 1 : -1) : 0; }
inline __half __hmax(__half a, __half b) { return fmaxf(a, b); }
inline __half __hmin(__half a, __half b) { return fminf(a, b); }
#define SIM_HALF_FUNCTION(name, function) \
  inline __half name(__half v) { return function(float(v)); }
SIM_HALF_FUNCTION(hsqrt, sqrtf)
SIM_HALF_FUNCTION(hrsqrt, rsqrtf)
SIM_HALF_FUNCTION(hexp, expf)
SIM_HALF_FUNCTION(hlog, logf)
SIM_HALF_FUNCTION(hsin, sinf)
SIM_HALF_FUNCTION(hcos, cosf)
SIM_HALF_FUNCTION(hfloor, floorf)
SIM_HALF_FUNCTION(hceil, ceilf)
SIM_HALF_FUNCTION(hrint, rintf)
SIM_HALF_FUNCTION(htrunc, truncf)
#undef SIM_HALF_FUNCTION

struct __attribute__((aligned(4))) __half2 {
  __half x, y;
};
typedef __half2 half2;
inline __half2 __halves2half2(__half a, __half b) { return {a, b}; }
inline __half2 make_half2(__half a, __half b) { return {a, b}; }
inline __half2 __half2half2(__half a) { return {a, a}; }
inline __half __low2half(__half2 v) { return v.x; }
inline __half __high2half(__half2 v) { return v.y; }
inline __half2 __floats2half2_rn(float a, float b) { return {a, b}; }
inline __half2 __float22half2_rn(float2 v) { return {v.x, v.y}; }
inline float2 __half22float2(__half2 v) { return {v.x, v.y}; }
inline __half2 __hadd2(__half2 a, __half2 b) { return {a.x + b.x, a.y + b.y}; }
inline __half2 __hmul2(__half2 a, __half2 b) { return {a.x * b.x, a.y * b.y}; }

#endif
