// Eigenvalues and singular values, each by NumPy's choice of routine.
#include "ops/product/lapack_matrices.h"

namespace ofl::ops {

namespace {

/// Makes the results of a call that failed NaN.
template <typename T>
void note_failure(Outcome* outcome, const Elements<double>& values, int count,
                  std::initializer_list<Columns<T>*> vectors) {
  outcome->failed = true;
  std::fill_n(values.data(), count, not_a_number<double>());
  for (Columns<T>* columns : vectors) columns->fill(not_a_number<T>());
}

template <typename T, bool Vectors, bool Lower>
void eigh_loop(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
  const auto& lapack = static_cast<const LapackCall*>(data)->routines<T>();
  const LoopOperands operands =
      Vectors ? LoopOperands(args, steps, {2, 1, 2}) : LoopOperands(args, steps, {2, 1});
  const int n = static_cast<int>(dims[1]);
  const char *const job = Vectors ? "V" : "N", *const triangle = Lower ? "L" : "U";
  Columns<T> matrix(n, n);
  Elements<double> values(n);
  const int lead = matrix.lead();
  int info = 0;
  const auto run = [&](const Workspace<T>& w) {
    if constexpr (LapackRoutines<T>::kComplex) {
      lapack.syevd(job, triangle, &n, matrix.data(), &lead, values.data(), w.work, &w.work_size,
                   w.reals, &w.reals_size, w.integers, &w.integers_size, &info, 1, 1);
    } else {
      lapack.syevd(job, triangle, &n, matrix.data(), &lead, values.data(), w.work, &w.work_size,
                   w.integers, &w.integers_size, &info, 1, 1);
    }
  };
  const Workspace<T> workspace(run);
  Outcome outcome;
  for (intptr_t i = 0; i < dims[0]; ++i) {
    matrix.take(operands.at(0, i));
    run(workspace);
    if (info != 0) note_failure(&outcome, values, n, {&matrix});
    give_vector(values.data(), operands.at(1, i), n);
    if constexpr (Vectors) matrix.give(operands.at(2, i));
  }
}

/// The eigenvectors of pairs of conjugated values are real and imaginary part, side by side.
inline void give_eigenvectors(const Columns<double>& from, const Elements<double>& imag, int n,
                              const View& to) {
  for (int j = 0; j < n; ++j) {
    const bool is_pair = imag[j] != 0;
    for (int i = 0; i < n; ++i) {
      const double real = from.at(i, j);
      to.at<Complex>(i, j) = {real, is_pair ? from.at(i, j + 1) : 0};
      if (is_pair) to.at<Complex>(i, j + 1) = {real, -from.at(i, j + 1)};
    }
    j += is_pair;
  }
}

template <typename T, bool Vectors>
void eig_loop(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
  const auto& lapack = static_cast<const LapackCall*>(data)->routines<T>();
  constexpr bool kComplex = LapackRoutines<T>::kComplex;
  const LoopOperands operands =
      Vectors ? LoopOperands(args, steps, {2, 1, 2}) : LoopOperands(args, steps, {2, 1});
  const int n = static_cast<int>(dims[1]);
  const char* const job = Vectors ? "V" : "N";
  Columns<T> matrix(n, n), vectors(n, Vectors ? n : 1);
  Elements<T> values(n), imag(n);  // imag: of the real routine
  const int lead = matrix.lead();
  int info = 0;
  const auto run = [&](const Workspace<T>& w) {
    if constexpr (kComplex) {
      lapack.geev("N", job, &n, matrix.data(), &lead, values.data(), nullptr, &lead, vectors.data(),
                  &lead, w.work, &w.work_size, w.reals, &info, 1, 1);
    } else {
      lapack.geev("N", job, &n, matrix.data(), &lead, values.data(), imag.data(), nullptr, &lead,
                  vectors.data(), &lead, w.work, &w.work_size, &info, 1, 1);
    }
  };
  const Workspace<T> workspace(run, 2 * n);
  Outcome outcome;
  for (intptr_t i = 0; i < dims[0]; ++i) {
    matrix.take(operands.at(0, i));
    run(workspace);
    if (info != 0) {
      outcome.failed = true;
      fill_nan<Complex>(operands.at(1, i), n);
      if constexpr (Vectors) fill_nan<Complex>(operands.at(2, i), n, n);
    } else if constexpr (kComplex) {
      give_vector(values.data(), operands.at(1, i), n);
      if constexpr (Vectors) vectors.give(operands.at(2, i));
    } else {
      const View to = operands.at(1, i);
      for (int k = 0; k < n; ++k) to.at<Complex>(k) = {values[k], imag[k]};
      if constexpr (Vectors) give_eigenvectors(vectors, imag, n, operands.at(2, i));
    }
  }
}

enum class SingularVectors : char { none = 'N', reduced = 'S', all = 'A' };

template <typename T, SingularVectors Wanted>
void svd_loop(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
  const auto& lapack = static_cast<const LapackCall*>(data)->routines<T>();
  constexpr bool kVectors = Wanted != SingularVectors::none;
  const LoopOperands operands =
      kVectors ? LoopOperands(args, steps, {2, 2, 1, 2}) : LoopOperands(args, steps, {2, 1});
  const int m = static_cast<int>(dims[1]), n = static_cast<int>(dims[2]);
  const int smaller = std::min(m, n), larger = std::max(m, n);
  const bool all = Wanted == SingularVectors::all;
  const int left = !kVectors ? 0 : all ? m : smaller, right = !kVectors ? 0 : all ? n : smaller;
  const char job = static_cast<char>(Wanted);
  Columns<T> matrix(m, n), u(m, left), vt(right, n);
  Elements<double> values(smaller);
  const int lead = matrix.lead(), vt_lead = vt.lead();
  int info = 0;
  const auto run = [&](const Workspace<T>& w) {
    if constexpr (LapackRoutines<T>::kComplex) {
      lapack.gesdd(&job, &m, &n, matrix.data(), &lead, values.data(), u.data(), &lead, vt.data(),
                   &vt_lead, w.work, &w.work_size, w.reals, w.integers, &info, 1);
    } else {
      lapack.gesdd(&job, &m, &n, matrix.data(), &lead, values.data(), u.data(), &lead, vt.data(),
                   &vt_lead, w.work, &w.work_size, w.integers, &info, 1);
    }
  };
  // LAPACK's least sizes, of which it does not tell.
  const int64_t reals = kVectors ? int64_t{5} * smaller + 2 * int64_t{smaller} * larger +
                                       5 * int64_t{smaller} * smaller
                                 : int64_t{7} * smaller;
  const Workspace<T> workspace(run, LapackRoutines<T>::kComplex ? reals : 0, int64_t{8} * smaller);
  Outcome outcome;
  for (intptr_t i = 0; i < dims[0]; ++i) {
    matrix.take(operands.at(0, i));
    run(workspace);
    if (info != 0) {
      note_failure(&outcome, values, smaller, {&u, &vt});
    } else if (all && smaller == 0) {  // left as they were
      u.fill_identity();
      vt.fill_identity();
    }
    give_vector(values.data(), operands.at(kVectors ? 2 : 1, i), smaller);
    if constexpr (kVectors) {
      u.give(operands.at(1, i));
      vt.give(operands.at(3, i));
    }
  }
}

template <SingularVectors Wanted>
constexpr LapackRow svd_row(const char* ufunc) {
  return {ufunc, svd_loop<double, Wanted>, svd_loop<Complex, Wanted>};
}

constexpr LapackRow kRows[] = {
    {"eigh_lo", eigh_loop<double, true, true>, eigh_loop<Complex, true, true>},
    {"eigh_up", eigh_loop<double, true, false>, eigh_loop<Complex, true, false>},
    {"eigvalsh_lo", eigh_loop<double, false, true>, eigh_loop<Complex, false, true>},
    {"eigvalsh_up", eigh_loop<double, false, false>, eigh_loop<Complex, false, false>},
    {"eig", eig_loop<double, true>, eig_loop<Complex, true>},
    {"eigvals", eig_loop<double, false>, eig_loop<Complex, false>},
    svd_row<SingularVectors::none>("svd"),
    svd_row<SingularVectors::reduced>("svd_s"),
    svd_row<SingularVectors::all>("svd_f"),
};

}  // namespace

LapackRows spectral_rows() { return {std::begin(kRows), std::end(kRows)}; }

}  // namespace ofl::ops
