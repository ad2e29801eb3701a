// The vectors of each processor: the same code is compiled for some of them and chosen as it runs.
#pragma once

/// Functions for processors that have these vectors, and for code that asked has_avx2() or
/// has_avx512(); no attributes, and never asked for, with other processors and compilers.
#if defined(__x86_64__) && defined(__GNUC__)
#define OFL_X86_VECTORS 1
#define OFL_AVX2 __attribute__((target("avx2")))
#define OFL_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
/// All that such a function calls is inlined, and so compiled for its vectors.
#define OFL_FLAT __attribute__((flatten))
#else
#define OFL_AVX2
#define OFL_AVX512
#define OFL_FLAT
#endif

namespace ofl {

#ifdef OFL_X86_VECTORS
inline bool is_intel() { return __builtin_cpu_is("intel"); }
inline bool has_avx2() { return __builtin_cpu_supports("avx2"); }
inline bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#else
constexpr bool is_intel() { return false; }
constexpr bool has_avx2() { return false; }
constexpr bool has_avx512() { return false; }
#endif

}  // namespace ofl
