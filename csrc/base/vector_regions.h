// Regions of a source in which all functions are for wide vectors, those of headers, too: the
// helpers of a template then need no attributes. The headers of the standard library and of the
// compiler come before a region. Only choose_by_isa() hands out what is in it.
#pragma once

#include "base/vectors.h"

#ifdef OFL_X86_VECTORS
#define OFL_INLINE inline __attribute__((always_inline))
#define OFL_PRAGMA_TEXT(...) _Pragma(#__VA_ARGS__)
#define OFL_PRAGMA(...) OFL_PRAGMA_TEXT(__VA_ARGS__)
#ifdef __clang__
#define OFL_BEGIN_REGION(set) \
  OFL_PRAGMA(clang attribute push(__attribute__((target(set))), apply_to = function))
#define OFL_END_REGION OFL_PRAGMA(clang attribute pop)
#else
#define OFL_BEGIN_REGION(set) OFL_PRAGMA(GCC push_options) OFL_PRAGMA(GCC target(set))
#define OFL_END_REGION OFL_PRAGMA(GCC pop_options)
#endif
/// Each processor with AVX2 that there is fuses a product and a sum, too.
#define OFL_BEGIN_AVX2 OFL_BEGIN_REGION("avx2,fma")
#define OFL_BEGIN_AVX512 OFL_BEGIN_REGION("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")
#else
#define OFL_INLINE inline
#endif
