// Loads, bit casts, integer intrinsics, and arithmetic with a named rounding.
#ifndef SIM_INTRINSICS_H_
#define SIM_INTRINSICS_H_

#define SIM_LOAD(name)              \
  template <typename T>             \
  inline T name(const T* address) { \
    return *address;                \
  }
SIM_LOAD(__ldg)
SIM_LOAD(__ldca)
SIM_LOAD(__ldcg)
SIM_LOAD(__ldcs)
SIM_LOAD(__ldcv)
SIM_LOAD(__ldlu)
#undef SIM_LOAD

#define SIM_STORE(name)                   \
  template <typename T>                   \
  inline void name(T* address, T value) { \
    *address = value;                     \
  }
SIM_STORE(__stcg)
SIM_STORE(__stcs)
SIM_STORE(__stwb)
SIM_STORE(__stwt)
#undef SIM_STORE

namespace sim {
template <typename To, typename From>
inline To bit_cast(From value) {
  static_assert(sizeof(To) == sizeof(From), "sizes differ");
  To result;
  __builtin_memcpy(&result, &value, sizeof result);
  return result;
}
}  // namespace sim

inline float __int_as_float(int v) { return sim::bit_cast<float>(v); }
inline float __uint_as_float(unsigned v) { return sim::bit_cast<float>(v); }
inline int __float_as_int(float v) { return sim::bit_cast<int>(v); }
inline unsigned __float_as_uint(float v) { return sim::bit_cast<unsigned>(v); }
inline double __longlong_as_double(long long v) { return sim::bit_cast<double>(v); }
inline long long __double_as_longlong(double v) { return sim::bit_cast<long long>(v); }
inline int __double2hiint(double v) { return int(__double_as_longlong(v) >> 32); }
inline int __double2loint(double v) { return int(__double_as_longlong(v)); }
inline double __hiloint2double(int hi, int lo) {
  return __longlong_as_double((long long)((unsigned long long)(unsigned)hi << 32 | (unsigned)lo));
}

inline int __clz(int v) { return v ? __builtin_clz(unsigned(v)) : 32; }
inline int __clzll(long long v) { return v ? __builtin_clzll((unsigned long long)v) : 64; }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline unsigned __brev(unsigned v) {
  v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
  v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
  v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(v);
}
inline unsigned long long __brevll(unsigned long long v) {
  return (unsigned long long)__brev(unsigned(v)) << 32 | __brev(unsigned(v >> 32));
}
inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return unsigned((unsigned long long)a * b >> 32);
}
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline int __mul24(int a, int b) { return int(unsigned(a << 8 >> 8) * unsigned(b << 8 >> 8)); }
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned shift) {
  return unsigned(((unsigned long long)hi << 32 | lo) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned shift) {
  return unsigned(((unsigned long long)hi << 32 | lo) >> (shift & 31));
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const unsigned long long bytes = (unsigned long long)b << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned pick = selector >> 4 * i & 7;
    result |= unsigned(bytes >> 8 * pick & 0xff) << 8 * i;
  }
  return result;
}

#define SIM_ROUNDED(type, prefix)                              \
  inline type prefix##add_rn(type a, type b) { return a + b; } \
  inline type prefix##sub_rn(type a, type b) { return a - b; } \
  inline type prefix##mul_rn(type a, type b) { return a * b; } \
  inline type prefix##div_rn(type a, type b) { return a / b; } \
  inline type prefix##rcp_rn(type a) { return type(1) / a; }
SIM_ROUNDED(float, __f)
SIM_ROUNDED(double, __d)
#undef SIM_ROUNDED
inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
inline double __dsqrt_rn(double a) { return __builtin_sqrt(a); }

inline int __float2int_rn(float v) { return int(__builtin_rintf(v)); }
inline int __float2int_rz(float v) { return int(v); }
inline float __int2float_rn(int v) { return float(v); }
inline float __double2float_rn(double v) { return float(v); }
inline long long __float2ll_rn(float v) { return (long long)__builtin_rintf(v); }
inline long long __double2ll_rn(double v) { return (long long)__builtin_rint(v); }

inline void __nanosleep(unsigned) {}
inline void __trap() { sim::trap("__trap()"); }

#ifndef NDEBUG
#define SIM_TEXT(x) #x
#define assert(condition) \
  ((condition) ? void(0) : sim::trap("assertion failed: " SIM_TEXT(condition)))
#else
#define assert(condition) void(0)
#endif

#endif
