// BLAS: the library that products of floating-point matrices go to, when there is one.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

namespace ofl::ops {

/// CBLAS's numbers.
enum BlasConstant : int {
  kRowMajor = 101,
  kColumnMajor = 102,
  kNoTrans = 111,
  kTrans = 112,
  kConjTrans = 113,
  kLower = 122
};

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
  Dot dot;             // nothing is conjugated
  Dot conjugated_dot;  // the first vector is

  static Factor factor(const T& value) {
    if constexpr (kComplex) {
      return &value;
    } else {
      return value;
    }
  }
};

/// LAPACK's routines for elements of type T, double or complex, by Fortran's rules: matrices lie
/// column after column, texts have their lengths at the end. Those for complex numbers have other
/// names in part (`heevd`), and some take memory for real numbers besides.
template <typename T>
struct LapackRoutines {
  static constexpr bool kComplex = !std::is_floating_point_v<T>;
  template <typename Real, typename Complex>
  using Either = std::conditional_t<kComplex, Complex, Real>;
  using In = const int*;
  using Text = const char*;

  void (*getrf)(In m, In n, T* a, In lda, int* pivots, int* info);
  void (*getrs)(Text trans, In n, In columns, const T* a, In lda, In pivots, T* b, In ldb,
                int* info, size_t length);
  void (*laswp)(In n, T* a, In lda, In first, In last, In pivots, In step);
  void (*potrf)(Text uplo, In n, T* a, In lda, int* info, size_t length);
  void (*trsm)(Text side, Text uplo, Text trans, Text diag, In m, In n, const T* alpha, const T* a,
               In lda, T* b, In ldb, size_t, size_t, size_t, size_t);
  void (*geqr2)(In m, In n, T* a, In lda, T* tau, T* work, int* info);
  void (*larft)(Text direct, Text storev, In n, In k, const T* v, In ldv, const T* tau, T* t,
                In ldt, size_t, size_t);
  void (*larfb)(Text side, Text trans, Text direct, Text storev, In m, In n, In k, const T* v,
                In ldv, const T* t, In ldt, T* c, In ldc, T* work, In ldwork, size_t, size_t,
                size_t, size_t);
  Either<void (*)(Text jobz, Text uplo, In n, T* a, In lda, double* w, T* work, In lwork,
                  int* iwork, In liwork, int* info, size_t, size_t),
         void (*)(Text jobz, Text uplo, In n, T* a, In lda, double* w, T* work, In lwork,
                  double* rwork, In lrwork, int* iwork, In liwork, int* info, size_t, size_t)>
      syevd;
  Either<void (*)(Text jobvl, Text jobvr, In n, T* a, In lda, double* real, double* imag, T* vl,
                  In ldvl, T* vr, In ldvr, T* work, In lwork, int* info, size_t, size_t),
         void (*)(Text jobvl, Text jobvr, In n, T* a, In lda, T* w, T* vl, In ldvl, T* vr, In ldvr,
                  T* work, In lwork, double* rwork, int* info, size_t, size_t)>
      geev;
  Either<void (*)(Text jobz, In m, In n, T* a, In lda, double* s, T* u, In ldu, T* vt, In ldvt,
                  T* work, In lwork, int* iwork, int* info, size_t),
         void (*)(Text jobz, In m, In n, T* a, In lda, double* s, T* u, In ldu, T* vt, In ldvt,
                  T* work, In lwork, double* rwork, int* iwork, int* info, size_t)>
      gesdd;
  Either<void (*)(In m, In n, In columns, T* a, In lda, T* b, In ldb, double* s,
                  const double* rcond, int* rank, T* work, In lwork, int* iwork, int* info),
         void (*)(In m, In n, In columns, T* a, In lda, T* b, In ldb, double* s,
                  const double* rcond, int* rank, T* work, In lwork, double* rwork, int* iwork,
                  int* info)>
      gelsd;
};

struct Blas {
  std::tuple<BlasRoutines<float>, BlasRoutines<double>, BlasRoutines<std::complex<float>>,
             BlasRoutines<std::complex<double>>>
      routines;
  std::tuple<LapackRoutines<double>, LapackRoutines<std::complex<double>>> lapack;
  bool own_loops = false;  // are used where they are faster (ops/product/gemm_panels.h)

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
