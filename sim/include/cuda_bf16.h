// bfloat16: the upper half of a float, rounded to nearest even.
#ifndef SIM_CUDA_BF16_H_
#define SIM_CUDA_BF16_H_

#include "sim_cuda.h"

struct __nv_bfloat16_raw {
  unsigned short x;
};

namespace sim {

inline unsigned short to_bfloat16(float v) {
  const unsigned bits = __float_as_uint(v);
  if (isnan(v)) return 0x7fff;
  return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/// Rounded once: a double first becomes a float whose last bit says whether anything was cut off.
inline unsigned short to_bfloat16(double v) {
  float nearest = float(v);
  const double back = nearest;
  if (back != v && !isnan(v) && !(__float_as_uint(nearest) & 1)) {
    const bool is_larger = fabs(back) > fabs(v);
    nearest = __uint_as_float(__float_as_uint(nearest) + (is_larger ? -1u : 1u));
  }
  return to_bfloat16(nearest);
}

}  // namespace sim

struct __nv_bfloat16 {
  unsigned short sim_bits;

  __nv_bfloat16() = default;
  __nv_bfloat16(__nv_bfloat16_raw raw) : sim_bits(raw.x) {}
  __nv_bfloat16(float v) : sim_bits(sim::to_bfloat16(v)) {}
  __nv_bfloat16(double v) : sim_bits(sim::to_bfloat16(v)) {}
  __nv_bfloat16(int v) : __nv_bfloat16(double(v)) {}
  __nv_bfloat16(unsigned v) : __nv_bfloat16(double(v)) {}
  __nv_bfloat16(short v) : __nv_bfloat16(float(v)) {}
  __nv_bfloat16(unsigned short v) : __nv_bfloat16(float(v)) {}
  __nv_bfloat16(long v) : __nv_bfloat16(float(v)) {}
  __nv_bfloat16(unsigned long v) : __nv_bfloat16(float(v)) {}
  __nv_bfloat16(long long v) : __nv_bfloat16(float(v)) {}
  __nv_bfloat16(unsigned long long v) : __nv_bfloat16(float(v)) {}

  operator float() const { return __uint_as_float(unsigned(sim_bits) << 16); }
  operator __nv_bfloat16_raw() const { return {sim_bits}; }
};
typedef __nv_bfloat16 nv_bfloat16;

inline float __bfloat162float(__nv_bfloat16 v) { return v; }
inline __nv_bfloat16 __float2bfloat16(float v) { return v; }
inline __nv_bfloat16 __float2bfloat16_rn(float v) { return v; }
inline __nv_bfloat16 __double2bfloat16(double v) { return v; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 v) { return v.sim_bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return __nv_bfloat16_raw{bits}; }

#define SIM_BFLOAT_OPERATOR(op)                                        \
  inline __nv_bfloat16 operator op(__nv_bfloat16 a, __nv_bfloat16 b) { \
    return float(a) op float(b);                                       \
  }                                                                    \
  inline __nv_bfloat16& operator op##=(__nv_bfloat16 & a, __nv_bfloat16 b) { return a = a op b; }
SIM_BFLOAT_OPERATOR(+)
SIM_BFLOAT_OPERATOR(-)
SIM_BFLOAT_OPERATOR(*)
SIM_BFLOAT_OPERATOR(/)
#undef SIM_BFLOAT_OPERATOR
inline __nv_bfloat16 operator-(__nv_bfloat16 a) { return -float(a); }
inline __nv_bfloat16 operator+(__nv_bfloat16 a) { return a; }

#define SIM_BFLOAT_COMPARISON(op) \
  inline bool operator op(__nv_bfloat16 a, __nv_bfloat16 b) { return float(a) op float(b); }
SIM_BFLOAT_COMPARISON(==)
SIM_BFLOAT_COMPARISON(!=)
SIM_BFLOAT_COMPARISON(<)
SIM_BFLOAT_COMPARISON(<=)
SIM_BFLOAT_COMPARISON(>)
SIM_BFLOAT_COMPARISON(>=)
#undef SIM_BFLOAT_COMPARISON

struct __attribute__((aligned(4))) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};
typedef __nv_bfloat162 nv_bfloat162;
inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return {a, b}; }
inline float2 __bfloat1622float2(__nv_bfloat162 v) { return {v.x, v.y}; }

#endif
