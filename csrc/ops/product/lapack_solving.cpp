// Determinants, equations, inverses and Cholesky factors.
#include <cmath>
#include <vector>

#include "ops/product/lapack_blocks.h"
#include "ops/product/lapack_triangles.h"

namespace ofl::ops {

namespace {

constexpr int kBlockColumns = 64;
/// Right sides in a part, a multiple of those that the library's loops take at once.
constexpr int kMostSides = 48, kSidesAtOnce = 8, kEvenSides = 4;
/// The library is faster for fewer sides than these.
constexpr int kFewSides = 4;
/// What a multiplication takes, in those of large products: triangles of 100 rows are slow.
constexpr double kSolvingCost = 2;

/// Without the recovery of infinities that C++ has for complex numbers, as NumPy multiplies.
inline double times(double a, double b) { return a * b; }
inline Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
inline double sign_of(double x, double) { return x < 0 ? -1.0 : 1.0; }
inline Complex sign_of(Complex x, double size) { return {x.real() / size, x.imag() / size}; }

/// The factors L and U replace `matrix`. False where it is singular.
template <typename T>
bool factor_large(const LapackCall& call, int n, Columns<T>* matrix, std::vector<int>* pivots) {
  const LapackRoutines<T>& lapack = call.routines<T>();
  int* const exchanged = pivots->data();
  const int one = 1;
  const T unit(1);
  const auto factor = [&](int first, int count) {
    const int rows = n - first;
    int info = 0;
    lapack.getrf(&rows, &count, &matrix->at(first, first), &n, exchanged + first, &info);
    for (int i = first; i < first + count; ++i) exchanged[i] += first;
    return info == 0;
  };
  const auto update = [&](int first, int count, int from, int columns) {
    const int low = first + 1, high = first + count, below = n - high;
    lapack.laswp(&columns, &matrix->at(0, from), &n, &low, &high, exchanged, &one);
    lapack.trsm("L", "L", "N", "U", &count, &columns, &unit, &matrix->at(first, first), &n,
                &matrix->at(first, from), &n, 1, 1, 1, 1);
    subtract_product(call, below, columns, count, &matrix->at(high, first),
                     &matrix->at(first, from), false, &matrix->at(high, from), n);
  };
  if (!factor_blocks<T>(call, {kBlockColumns, n, n, n}, factor, update)) return false;
  for (int first = 0; first + kBlockColumns < n; first += kBlockColumns) {
    const int low = first + kBlockColumns + 1;  // exchanges that later blocks made
    lapack.laswp(&kBlockColumns, &matrix->at(0, first), &n, &low, &n, exchanged, &one);
  }
  return true;
}

template <typename T>
bool factor(const LapackCall& call, int n, Columns<T>* matrix, std::vector<int>* pivots) {
  if (n > kMostWhole) return factor_large(call, n, matrix, pivots);
  int info = 0;
  if (n > 0) call.routines<T>().getrf(&n, &n, matrix->data(), &n, pivots->data(), &info);
  return info == 0;
}

/// Sign and logarithm of the determinant, from the factors that replace `matrix`.
template <typename T>
void factor_determinant(const LapackCall& call, int n, Columns<T>* matrix, std::vector<int>* pivots,
                        T* sign, double* logarithm) {
  const bool regular = factor(call, n, matrix, pivots);
  *logarithm = regular ? 0.0 : -std::numeric_limits<double>::infinity();
  // Decided before the product: -sign of a complex number would turn the sign of its zero part.
  bool odd = false;
  for (int i = 0; i < n; ++i) odd ^= (*pivots)[i] != i + 1;
  *sign = !regular ? T(0) : odd ? T(-1) : T(1);
  for (int i = 0; regular && i < n; ++i) {
    const T x = matrix->at(i, i);
    const double size = std::abs(x);
    *sign = times(*sign, sign_of(x, size));
    *logarithm += std::log(size);
  }
}

template <typename T, bool WithLogarithm>
void determinant_loop(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
  const LapackCall& call = *static_cast<const LapackCall*>(data);
  const LoopOperands operands =
      WithLogarithm ? LoopOperands(args, steps, {2, 0, 0}) : LoopOperands(args, steps, {2, 0});
  const int n = static_cast<int>(dims[1]);
  Columns<T> matrix(n, n);
  std::vector<int> pivots(n);
  const Outcome outcome;
  for (intptr_t i = 0; i < dims[0]; ++i) {
    matrix.take(operands.at(0, i));
    T sign;
    double logarithm;
    factor_determinant(call, n, &matrix, &pivots, &sign, &logarithm);
    T& out = operands.at(1, i).template at<T>(0);
    if constexpr (WithLogarithm) {
      out = sign;
      operands.at(2, i).template at<double>(0) = logarithm;
    } else {
      out = times(sign, T(std::exp(logarithm)));
    }
  }
}

enum class Sides { matrix, column, identity };  // on the right of an equation

/// Turns the inverse of the product L @ U into that of the matrix with its rows as they were.
template <typename T>
void exchange_columns(int n, const std::vector<int>& pivots, Columns<T>* inverse) {
  for (int j = n - 1; j >= 0; --j) {
    T *const column = &inverse->at(0, j), *const other = &inverse->at(0, pivots[j] - 1);
    if (column != other) std::swap_ranges(column, column + n, other);
  }
}

/// Replaces the right sides by the solutions; false where the matrix is singular. The sides are cut
/// by their number alone, and the parts shared. Those of the identity have zeros before their part
/// while its rows are not exchanged; the library's bits are kept where its loops leave no columns
/// over.
template <typename T>
bool solve(const LapackCall& call, int n, int count, Sides right, Columns<T>* matrix,
           std::vector<int>* pivots, Columns<T>* sides) {
  if (n == 0 || count == 0) return true;
  if (!factor(call, n, matrix, pivots)) return false;
  const bool blocked = call.blas->own_loops && count >= kFewSides;
  const bool even = std::is_floating_point_v<T> && n % kEvenSides == 0;
  const bool triangular = right == Sides::identity && (blocked || even);
  const Triangles<T> triangles{call, *matrix, n, blocked ? kTriangleRows : n};
  const int parts = (count + kMostSides - 1) / kMostSides;
  const int step = (count + parts * kSidesAtOnce - 1) / (parts * kSidesAtOnce) * kSidesAtOnce;
  share_parts<T>(call, parts, kSolvingCost * n * n * count, [&](int64_t i) {
    const int first = static_cast<int>(i) * step, columns = std::min(step, count - first);
    if (columns <= 0) return;
    T* const part = &sides->at(0, first);
    if (triangular) return triangles.solve(columns, first, part);
    const int low = 1, ahead = 1;
    int unused = 0;
    if (blocked) {
      call.routines<T>().laswp(&columns, part, &n, &low, &n, pivots->data(), &ahead);
      triangles.solve(columns, 0, part);
    } else {
      call.routines<T>().getrs("N", &n, &columns, matrix->data(), &n, pivots->data(), part, &n,
                               &unused, 1);
    }
  });
  if (triangular) exchange_columns(n, *pivots, sides);
  return true;
}

template <typename T, Sides Right>
void solve_loop(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
  const LapackCall& call = *static_cast<const LapackCall*>(data);
  constexpr int kSideDims = Right == Sides::column ? 1 : 2, kOut = Right == Sides::identity ? 1 : 2;
  const LoopOperands operands = Right == Sides::identity
                                    ? LoopOperands(args, steps, {2, 2})
                                    : LoopOperands(args, steps, {2, kSideDims, kSideDims});
  const int n = static_cast<int>(dims[1]);
  const int count = Right == Sides::identity ? n : Right == Sides::column ? 1 : int(dims[2]);
  Columns<T> matrix(n, n), sides(n, count);
  std::vector<int> pivots(n);
  Outcome outcome;
  for (intptr_t i = 0; i < dims[0]; ++i) {
    matrix.take(operands.at(0, i));
    if constexpr (Right == Sides::identity) {
      sides.fill_identity();
    } else {
      sides.take(operands.at(1, i));
    }
    if (!solve(call, n, count, Right, &matrix, &pivots, &sides)) {
      outcome.failed = true;
      sides.fill(not_a_number<T>());
    }
    sides.give(operands.at(kOut, i));
  }
}

/// The lower factor replaces `matrix`. False where that is not positive definite.
template <typename T>
bool factor_positive_large(const LapackCall& call, int n, Columns<T>* matrix) {
  const LapackRoutines<T>& lapack = call.routines<T>();
  const T unit(1);
  const auto factor = [&](int first, int count) {
    const int below = n - first - count;
    int info = 0;
    lapack.potrf("L", &count, &matrix->at(first, first), &n, &info, 1);
    if (info != 0) return false;
    if (below == 0) return true;
    lapack.trsm("R", "L", "C", "N", &below, &count, &unit, &matrix->at(first, first), &n,
                &matrix->at(first + count, first), &n, 1, 1, 1, 1);
    return true;
  };
  const auto update = [&](int first, int count, int from, int columns) {
    const T* const left = &matrix->at(from, first);
    subtract_product(call, n - from, columns, count, left, left, true, &matrix->at(from, from), n);
  };
  return factor_blocks<T>(call, {kBlockColumns, n, n, n}, factor, update);
}

template <typename T, bool Lower>
void cholesky_loop(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
  const LapackCall& call = *static_cast<const LapackCall*>(data);
  const LoopOperands operands(args, steps, {2, 2});
  const int n = static_cast<int>(dims[1]);
  // The upper factor is the lower one of the transpose, transposed.
  const bool large = n > kMostWhole, turned = large && !Lower, lower = Lower || turned;
  Columns<T> matrix(n, n);
  Outcome outcome;
  for (intptr_t i = 0; i < dims[0]; ++i) {
    const View from = operands.at(0, i), to = operands.at(1, i);
    matrix.take(turned ? from.transposed() : from);
    int info = 0;
    if (large) {
      info = !factor_positive_large(call, n, &matrix);
    } else if (n > 0) {
      call.routines<T>().potrf(lower ? "L" : "U", &n, matrix.data(), &n, &info, 1);
    }
    if (info != 0) {
      outcome.failed = true;
      matrix.fill(not_a_number<T>());
    } else {
      for (int j = 0; j < n; ++j) {
        std::fill_n(&matrix.at(lower ? 0 : j + 1, j), lower ? j : n - j - 1, T(0));
      }
    }
    matrix.give(turned ? to.transposed() : to);
  }
}

constexpr LapackRow kRows[] = {
    {"det", determinant_loop<double, false>, determinant_loop<Complex, false>},
    {"slogdet", determinant_loop<double, true>, determinant_loop<Complex, true>},
    {"solve", solve_loop<double, Sides::matrix>, solve_loop<Complex, Sides::matrix>},
    {"solve1", solve_loop<double, Sides::column>, solve_loop<Complex, Sides::column>},
    {"inv", solve_loop<double, Sides::identity>, solve_loop<Complex, Sides::identity>},
    {"cholesky_lo", cholesky_loop<double, true>, cholesky_loop<Complex, true>},
    {"cholesky_up", cholesky_loop<double, false>, cholesky_loop<Complex, false>},
};

}  // namespace

LapackRows solving_rows() { return {std::begin(kRows), std::end(kRows)}; }

}  // namespace ofl::ops
