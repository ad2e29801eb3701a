// BLAS: the library that products of floating-point matrices go to, when there is one.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

namespace ofl::ops {

/// CBLAS's numbers.
enum BlasConstant : int { kRowMajor = 101, kNoTrans = 111, kTrans = 112, kLower = 122 };

/// The routines for elements of type T. They run in the calling thread, any thread may call them,
/// and they do not read what beta == 0 says is to be written.
template <typename T>
struct BlasRoutines {
  static constexpr bool kComplex = !std::is_floating_point_v<T>;
  using Factor = std::conditional_t<kComplex, const void*, T>;
  using Elements = std::conditional_t<kComplex, const void*, const T*>;
  using Target = std::conditional_t<kComplex, void*, T*>;
  using Dot = std::conditional_t<kComplex, void (*)(int, Elements, int, Elements, int, Target),
                                 T (*)(int, Elements, int, Elements, int)>;

  void (*gemm)(int order, int trans_a, int trans_b, int m, int n, int k, Factor alpha, Elements a,
               int lda, Elements b, int ldb, Factor beta, Target c, int ldc);
  void (*gemv)(int order, int trans, int m, int n, Factor alpha, Elements a, int lda, Elements x,
               int incx, Factor beta, Target y, int incy);
  void (*syrk)(int order, int uplo, int trans, int n, int k, Factor alpha, Elements a, int lda,
               Factor beta, Target c, int ldc);
  Dot dot;  // nothing is conjugated

  static Factor factor(const T& value) {
    if constexpr (kComplex) {
      return &value;
    } else {
      return value;
    }
  }
};

/// LAPACK's routines for elements of type T, by Fortran's rules: matrices lie column after column.
template <typename T>
struct LapackRoutines {
  void (*getrf)(const int* m, const int* n, T* a, const int* lda, int* pivots, int* info);
  void (*getrs)(const char* trans, const int* n, const int* columns, const T* a, const int* lda,
                const int* pivots, T* b, const int* ldb, int* info, size_t length);
  void (*potrf)(const char* uplo, const int* n, T* a, const int* lda, int* info, size_t length);
};

struct Blas {
  std::tuple<BlasRoutines<float>, BlasRoutines<double>, BlasRoutines<std::complex<float>>,
             BlasRoutines<std::complex<double>>>
      routines;
  std::tuple<LapackRoutines<double>, LapackRoutines<std::complex<double>>> lapack;
  bool own_loops = false;  // are used where they are faster (ops/gemm_panels.h)

  template <typename T>
  const BlasRoutines<T>& of() const {
    return std::get<BlasRoutines<T>>(routines);
  }
};

/// Looks every routine up: find(context, "cblas_sgemm"). Returns the first name that is missing, or
/// nullptr.
const char* find_routines(Blas* blas, void* (*find)(void* context, const char* name),
                          void* context);

/// The library in force; nullptr: products go through NumPy's loops.
const Blas* blas();
/// As long as the process; once, or again with the same or with nullptr.
void set_blas(const Blas* blas);

}  // namespace ofl::ops
