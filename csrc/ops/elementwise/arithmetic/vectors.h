// Vectors of any width, and of one element, with the operators of the language. For regions that
// are compiled for AVX2.
#pragma once

namespace ofl::ops::arithmetic {

namespace {

template <size_t kSize>
struct WordOf;
template <>
struct WordOf<1> {
  using Word = uint8_t;
};
template <>
struct WordOf<2> {
  using Word = uint16_t;
};
template <>
struct WordOf<4> {
  using Word = uint32_t;
};
template <>
struct WordOf<8> {
  using Word = uint64_t;
};

/// Operations of vectors of kBytes for which the language has no operator.
template <int kBytes>
struct Instructions;

template <typename T, int kBytes>
struct Vectors {
  using Element = T;
  using Word = typename WordOf<sizeof(T)>::Word;
  typedef T V __attribute__((vector_size(kBytes)));
  typedef Word Bits __attribute__((vector_size(kBytes)));
  /// In which sums and products do not overflow.
  typedef std::conditional_t<std::is_floating_point_v<T>, T, Word> Number;
  typedef Number Numbers __attribute__((vector_size(kBytes)));
  using Here = Instructions<kBytes>;
  static constexpr intptr_t kLanes = kBytes / static_cast<intptr_t>(sizeof(T));
  static constexpr Word kSign = static_cast<Word>(Word{1} << (8 * sizeof(T) - 1));

  static OFL_INLINE V load(const T* from) {
    V x;
    __builtin_memcpy(&x, from, sizeof x);
    return x;
  }
  static OFL_INLINE void store(T* to, V x) { __builtin_memcpy(to, &x, sizeof x); }
  static OFL_INLINE V all(T x) { return (V)Here::all(x); }
};

/// One element.
template <>
struct Instructions<1> {
  template <typename T>
  static OFL_INLINE auto all(T x) {
    typedef T V __attribute__((vector_size(sizeof(T))));
    return V{x};
  }
  template <typename V>
  static OFL_INLINE bool have_nan(V a, V b) {
    return __builtin_isunordered(a[0], b[0]);
  }
  template <typename V>
  static OFL_INLINE V sqrt(V x) {
    x[0] = std::sqrt(x[0]);
    return x;
  }
  template <int kMode, typename V>
  static OFL_INLINE V round(V x) {
    if constexpr (sizeof x == sizeof(float)) {
      const __m128 one = _mm_set_ss(x[0]);
      x[0] = _mm_cvtss_f32(_mm_round_ss(one, one, kMode | _MM_FROUND_NO_EXC));
    } else {
      const __m128d one = _mm_set_sd(x[0]);
      x[0] = _mm_cvtsd_f64(_mm_round_sd(one, one, kMode | _MM_FROUND_NO_EXC));
    }
    return x;
  }
};
template <>
struct Instructions<2> : Instructions<1> {};
template <>
struct Instructions<4> : Instructions<1> {};
template <>
struct Instructions<8> : Instructions<1> {};

template <>
struct Instructions<16> {
  static OFL_INLINE __m128 all(float x) { return _mm_set1_ps(x); }
  static OFL_INLINE __m128d all(double x) { return _mm_set1_pd(x); }
  template <typename T>
  static OFL_INLINE __m128i all(T x) {
    if constexpr (sizeof x == 1) return _mm_set1_epi8(static_cast<char>(x));
    if constexpr (sizeof x == 2) return _mm_set1_epi16(static_cast<short>(x));
    if constexpr (sizeof x == 4) return _mm_set1_epi32(static_cast<int>(x));
    if constexpr (sizeof x == 8) return _mm_set1_epi64x(static_cast<long long>(x));
  }
  static OFL_INLINE bool have_nan(__m128 a, __m128 b) {
    return _mm_movemask_ps(_mm_cmpunord_ps(a, b)) != 0;
  }
  static OFL_INLINE bool have_nan(__m128d a, __m128d b) {
    return _mm_movemask_pd(_mm_cmpunord_pd(a, b)) != 0;
  }
  static OFL_INLINE __m128 sqrt(__m128 x) { return _mm_sqrt_ps(x); }
  static OFL_INLINE __m128d sqrt(__m128d x) { return _mm_sqrt_pd(x); }
  template <int kMode>
  static OFL_INLINE __m128 round(__m128 x) {
    return _mm_round_ps(x, kMode | _MM_FROUND_NO_EXC);
  }
  template <int kMode>
  static OFL_INLINE __m128d round(__m128d x) {
    return _mm_round_pd(x, kMode | _MM_FROUND_NO_EXC);
  }
};

template <>
struct Instructions<32> {
  static OFL_INLINE __m256 all(float x) { return _mm256_set1_ps(x); }
  static OFL_INLINE __m256d all(double x) { return _mm256_set1_pd(x); }
  template <typename T>
  static OFL_INLINE __m256i all(T x) {
    if constexpr (sizeof x == 1) return _mm256_set1_epi8(static_cast<char>(x));
    if constexpr (sizeof x == 2) return _mm256_set1_epi16(static_cast<short>(x));
    if constexpr (sizeof x == 4) return _mm256_set1_epi32(static_cast<int>(x));
    if constexpr (sizeof x == 8) return _mm256_set1_epi64x(static_cast<long long>(x));
  }
  static OFL_INLINE bool have_nan(__m256 a, __m256 b) {
    return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_UNORD_Q)) != 0;
  }
  static OFL_INLINE bool have_nan(__m256d a, __m256d b) {
    return _mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_UNORD_Q)) != 0;
  }
  static OFL_INLINE __m256 sqrt(__m256 x) { return _mm256_sqrt_ps(x); }
  static OFL_INLINE __m256d sqrt(__m256d x) { return _mm256_sqrt_pd(x); }
  template <int kMode>
  static OFL_INLINE __m256 round(__m256 x) {
    return _mm256_round_ps(x, kMode | _MM_FROUND_NO_EXC);
  }
  template <int kMode>
  static OFL_INLINE __m256d round(__m256d x) {
    return _mm256_round_pd(x, kMode | _MM_FROUND_NO_EXC);
  }
};

}  // namespace

}  // namespace ofl::ops::arithmetic
