// Vectors of the instruction sets under one set of names, for loops that are compiled for each. A
// product and its addition are rounded once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/vectors.h"

#ifdef OFL_X86_VECTORS
#include <immintrin.h>
// Functions of no instruction set handle vectors, too. All of them are inlined, so that it does not
// matter how such a function would return a vector.
#pragma GCC diagnostic ignored "-Wpsabi"
/// Each processor with AVX2 that there is has these, too.
#define OFL_AVX2_FMA __attribute__((target("avx2,fma")))
#endif

namespace ofl::ops {

/// One element at a time, by what the compiler makes of it.
template <typename T>
struct PlainLanes {
  static constexpr int kLanes = 16 / sizeof(T), kRows = 4;
  struct Type {
    T at[kLanes];
  };
  static Type zero() { return {}; }
  static Type load(const T* from) {
    Type x;
    std::copy_n(from, kLanes, x.at);
    return x;
  }
  static T spread(const T* from) { return *from; }
  static Type load_some(const T* from, int64_t count) {
    Type x{};
    std::copy_n(from, count, x.at);
    return x;
  }
  static void put_some(T* to, const Type& x, int64_t count) { std::copy_n(x.at, count, to); }
  static T rounded_once(T a, T b, T c) {
#ifdef __FP_FAST_FMAF
    return std::fma(a, b, c);
#else
    return a * b + c;
#endif
  }
  static void multiply_add(T a, const Type& b, Type& sum) {
    for (int j = 0; j < kLanes; ++j) sum.at[j] = rounded_once(a, b.at[j], sum.at[j]);
  }
  static void multiply_add(const Type& a, const Type& b, Type& sum) {
    for (int j = 0; j < kLanes; ++j) sum.at[j] = rounded_once(a.at[j], b.at[j], sum.at[j]);
  }
  static void put(T* to, const Type& x, bool adds) {
    for (int j = 0; j < kLanes; ++j) to[j] = adds ? to[j] + x.at[j] : x.at[j];
  }
};

#ifdef OFL_X86_VECTORS
template <typename T>
struct Lanes256;

template <>
struct Lanes256<float> {
  static constexpr int kLanes = 8, kRows = 6;
  using Type = __m256;
  static OFL_AVX2_FMA Type zero() { return _mm256_setzero_ps(); }
  static OFL_AVX2_FMA Type load(const float* from) { return _mm256_loadu_ps(from); }
  static OFL_AVX2_FMA Type spread(const float* from) { return _mm256_broadcast_ss(from); }
  static OFL_AVX2_FMA void multiply_add(Type a, Type b, Type& sum) {
    sum = _mm256_fmadd_ps(a, b, sum);
  }
  static OFL_AVX2_FMA void put(float* to, Type x, bool adds) {
    _mm256_storeu_ps(to, adds ? _mm256_add_ps(_mm256_loadu_ps(to), x) : x);
  }
  static OFL_AVX2_FMA __m256i first(int64_t count) {
    const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), numbers);
  }
  static OFL_AVX2_FMA Type load_some(const float* from, int64_t count) {
    return _mm256_maskload_ps(from, first(count));
  }
  static OFL_AVX2_FMA void put_some(float* to, Type x, int64_t count) {
    _mm256_maskstore_ps(to, first(count), x);
  }
};

template <>
struct Lanes256<double> {
  static constexpr int kLanes = 4, kRows = 6;
  using Type = __m256d;
  static OFL_AVX2_FMA Type zero() { return _mm256_setzero_pd(); }
  static OFL_AVX2_FMA Type load(const double* from) { return _mm256_loadu_pd(from); }
  static OFL_AVX2_FMA Type spread(const double* from) { return _mm256_broadcast_sd(from); }
  static OFL_AVX2_FMA void multiply_add(Type a, Type b, Type& sum) {
    sum = _mm256_fmadd_pd(a, b, sum);
  }
  static OFL_AVX2_FMA void put(double* to, Type x, bool adds) {
    _mm256_storeu_pd(to, adds ? _mm256_add_pd(_mm256_loadu_pd(to), x) : x);
  }
  static OFL_AVX2_FMA __m256i first(int64_t count) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
  }
  static OFL_AVX2_FMA Type load_some(const double* from, int64_t count) {
    return _mm256_maskload_pd(from, first(count));
  }
  static OFL_AVX2_FMA void put_some(double* to, Type x, int64_t count) {
    _mm256_maskstore_pd(to, first(count), x);
  }
};

template <typename T>
struct Lanes512;

template <>
struct Lanes512<float> {
  static constexpr int kLanes = 16, kRows = 14;
  using Type = __m512;
  static OFL_AVX512 Type zero() { return _mm512_setzero_ps(); }
  static OFL_AVX512 Type load(const float* from) { return _mm512_loadu_ps(from); }
  static OFL_AVX512 Type spread(const float* from) { return _mm512_set1_ps(*from); }
  static OFL_AVX512 void multiply_add(Type a, Type b, Type& sum) {
    sum = _mm512_fmadd_ps(a, b, sum);
  }
  static OFL_AVX512 void put(float* to, Type x, bool adds) {
    _mm512_storeu_ps(to, adds ? _mm512_add_ps(_mm512_loadu_ps(to), x) : x);
  }
  static OFL_AVX512 __mmask16 first(int64_t count) {
    return static_cast<__mmask16>((uint32_t{1} << count) - 1);
  }
  static OFL_AVX512 Type load_some(const float* from, int64_t count) {
    return _mm512_maskz_loadu_ps(first(count), from);
  }
  static OFL_AVX512 void put_some(float* to, Type x, int64_t count) {
    _mm512_mask_storeu_ps(to, first(count), x);
  }
};

template <>
struct Lanes512<double> {
  static constexpr int kLanes = 8, kRows = 14;
  using Type = __m512d;
  static OFL_AVX512 Type zero() { return _mm512_setzero_pd(); }
  static OFL_AVX512 Type load(const double* from) { return _mm512_loadu_pd(from); }
  static OFL_AVX512 Type spread(const double* from) { return _mm512_set1_pd(*from); }
  static OFL_AVX512 void multiply_add(Type a, Type b, Type& sum) {
    sum = _mm512_fmadd_pd(a, b, sum);
  }
  static OFL_AVX512 void put(double* to, Type x, bool adds) {
    _mm512_storeu_pd(to, adds ? _mm512_add_pd(_mm512_loadu_pd(to), x) : x);
  }
  static OFL_AVX512 __mmask8 first(int64_t count) {
    return static_cast<__mmask8>((uint32_t{1} << count) - 1);
  }
  static OFL_AVX512 Type load_some(const double* from, int64_t count) {
    return _mm512_maskz_loadu_pd(first(count), from);
  }
  static OFL_AVX512 void put_some(double* to, Type x, int64_t count) {
    _mm512_mask_storeu_pd(to, first(count), x);
  }
};
#endif

}  // namespace ofl::ops
