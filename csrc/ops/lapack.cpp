#include "ops/lapack.h"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "ops/gemm_plan.h"

namespace ofl::ops {

namespace {

/// Larger ones gain by the threads of NumPy's library.
constexpr int64_t kMostRows = 256;
/// Right sides in a part, and float32 additions for each byte of a multiplication.
constexpr int kMostSides = 64;
constexpr double kSideWork = 0.02;

/// A matrix or a column as a loop gets it; steps in bytes.
struct View {
  char* data;
  intptr_t row_step, column_step;

  template <typename T>
  T& at(int64_t row, int64_t column) const {
    return *reinterpret_cast<T*>(data + row * row_step + column * column_step);
  }
};

/// A copy in the order of LAPACK, column after column.
template <typename T>
class Columns {
 public:
  Columns(int64_t rows, int64_t columns) : rows_(rows), columns_(columns), items_(rows * columns) {}

  T* data() { return items_.data(); }
  T& at(int64_t row, int64_t column) { return items_[column * rows_ + row]; }
  void take(const View& from) {
    for (int64_t j = 0; j < columns_; ++j) {
      for (int64_t i = 0; i < rows_; ++i) at(i, j) = from.at<T>(i, j);
    }
  }
  void give(const View& to) {
    for (int64_t i = 0; i < rows_; ++i) {
      for (int64_t j = 0; j < columns_; ++j) to.at<T>(i, j) = at(i, j);
    }
  }
  void fill(T value) { std::fill(items_.begin(), items_.end(), value); }

 private:
  const int64_t rows_, columns_;
  std::vector<T> items_;
};

/// What the thread's invalid flag is after a loop: as before, or raised by a failure. Arithmetic
/// with NaN does not count.
class Outcome {
 public:
  ~Outcome() {
    std::feclearexcept(FE_INVALID);
    if (failed) std::feraiseexcept(FE_INVALID);
  }
  bool failed = std::fetestexcept(FE_INVALID) != 0;
};

template <typename T>
T not_a_number() {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if constexpr (std::is_floating_point_v<T>) {
    return nan;
  } else {
    return {nan, nan};
  }
}

/// Without the recovery of infinities that C++ has for complex numbers, as NumPy multiplies.
inline double times(double a, double b) { return a * b; }
inline std::complex<double> times(std::complex<double> a, std::complex<double> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
inline double sign_of(double x, double) { return x < 0 ? -1.0 : 1.0; }
inline std::complex<double> sign_of(std::complex<double> x, double size) {
  return {x.real() / size, x.imag() / size};
}

/// Sign and logarithm of the determinant, from the factors that replace `matrix`.
template <typename T>
void factor_determinant(const LapackRoutines<T>& lapack, int64_t rows, Columns<T>* matrix,
                        std::vector<int>* pivots, T* sign, double* logarithm) {
  const int n = static_cast<int>(rows), lead = std::max(n, 1);
  int info = 0;
  if (n > 0) lapack.getrf(&n, &n, matrix->data(), &lead, pivots->data(), &info);
  *logarithm = info == 0 ? 0.0 : -std::numeric_limits<double>::infinity();
  // Decided before the product: -sign of a complex number would turn the sign of its zero part.
  bool odd = false;
  for (int i = 0; i < n; ++i) odd ^= (*pivots)[i] != i + 1;
  *sign = info != 0 ? T(0) : odd ? T(-1) : T(1);
  for (int i = 0; info == 0 && i < n; ++i) {
    const T x = matrix->at(i, i);
    const double size = std::abs(x);
    *sign = times(*sign, sign_of(x, size));
    *logarithm += std::log(size);
  }
}

template <typename T, bool WithLogarithm>
void determinant_loop(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
  const LapackCall& call = *static_cast<const LapackCall*>(data);
  const auto& lapack = std::get<LapackRoutines<T>>(call.blas->lapack);
  constexpr int kOperands = WithLogarithm ? 3 : 2;
  const int64_t n = dims[1];
  Columns<T> matrix(n, n);
  std::vector<int> pivots(n);
  const Outcome outcome;
  for (intptr_t i = 0; i < dims[0]; ++i) {
    matrix.take({args[0] + i * steps[0], steps[kOperands], steps[kOperands + 1]});
    T sign;
    double logarithm;
    factor_determinant(lapack, n, &matrix, &pivots, &sign, &logarithm);
    T* const out = reinterpret_cast<T*>(args[1] + i * steps[1]);
    if constexpr (WithLogarithm) {
      *out = sign;
      *reinterpret_cast<double*>(args[2] + i * steps[2]) = logarithm;
    } else {
      *out = times(sign, T(std::exp(logarithm)));
    }
  }
}

/// Replaces the right sides by the solutions; the first failing pivot, or 0. The sides are cut by
/// their number alone, and the parts shared.
template <typename T>
int solve(const LapackCall& call, int n, int count, Columns<T>* matrix, std::vector<int>* pivots,
          Columns<T>* sides) {
  const auto& lapack = std::get<LapackRoutines<T>>(call.blas->lapack);
  int info = 0;
  if (n == 0 || count == 0) return info;
  lapack.getrf(&n, &n, matrix->data(), &n, pivots->data(), &info);
  if (info != 0) return info;
  const int parts = (count + kMostSides - 1) / kMostSides, step = (count + parts - 1) / parts;
  const double work = kSideWork * sizeof(T) * n * n * count;
  ep::HelperPool* const helpers = is_divisible(call.helpers, work) ? call.helpers : nullptr;
  share(helpers, parts, work, [&](int64_t i) {
    const int first = static_cast<int>(i) * step, columns = std::min(step, count - first);
    if (columns <= 0) return;
    int unused = 0;
    lapack.getrs("N", &n, &columns, matrix->data(), &n, pivots->data(), &sides->at(0, first), &n,
                 &unused, 1);
  });
  return info;
}

enum class Sides { matrix, column, identity };  // on the right of an equation

template <typename T, Sides Right>
void solve_loop(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
  const LapackCall& call = *static_cast<const LapackCall*>(data);
  constexpr int kOperands = Right == Sides::identity ? 2 : 3, kOut = kOperands - 1;
  const int64_t rows = dims[1];
  const int64_t columns = Right == Sides::matrix ? dims[2] : Right == Sides::column ? 1 : rows;
  const int n = static_cast<int>(rows), count = static_cast<int>(columns);
  Columns<T> matrix(rows, rows), sides(rows, columns);
  std::vector<int> pivots(rows);
  Outcome outcome;
  const intptr_t* const core = steps + kOperands;
  for (intptr_t i = 0; i < dims[0]; ++i) {
    matrix.take({args[0] + i * steps[0], core[0], core[1]});
    if constexpr (Right == Sides::identity) {
      sides.fill(T(0));
      for (int64_t j = 0; j < rows; ++j) sides.at(j, j) = T(1);
    } else {
      const intptr_t across = Right == Sides::matrix ? core[3] : 0;
      sides.take({args[1] + i * steps[1], core[2], across});
    }
    const int info = solve(call, n, count, &matrix, &pivots, &sides);
    if (info != 0) {
      outcome.failed = true;
      sides.fill(not_a_number<T>());
    }
    constexpr int kAt = Right == Sides::matrix ? 4 : Right == Sides::column ? 3 : 2;
    const intptr_t across = Right == Sides::column ? 0 : core[kAt + 1];
    sides.give({args[kOut] + i * steps[kOut], core[kAt], across});
  }
}

template <typename T, bool Lower>
void cholesky_loop(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
  const LapackCall& call = *static_cast<const LapackCall*>(data);
  const auto& lapack = std::get<LapackRoutines<T>>(call.blas->lapack);
  const int64_t rows = dims[1];
  const int n = static_cast<int>(rows), lead = std::max(n, 1);
  const char triangle = Lower ? 'L' : 'U';
  Columns<T> matrix(rows, rows);
  Outcome outcome;
  for (intptr_t i = 0; i < dims[0]; ++i) {
    matrix.take({args[0] + i * steps[0], steps[2], steps[3]});
    int info = 0;
    if (n > 0) lapack.potrf(&triangle, &n, matrix.data(), &lead, &info, 1);
    if (info != 0) {
      outcome.failed = true;
      matrix.fill(not_a_number<T>());
    } else {
      for (int64_t j = 0; j < rows; ++j) {
        for (int64_t k = 0; k < j; ++k) matrix.at(Lower ? k : j, Lower ? j : k) = T(0);
      }
    }
    matrix.give({args[1] + i * steps[1], steps[4], steps[5]});
  }
}

struct Row {
  const char* ufunc;
  LoopFn real, complex;
};

using Complex = std::complex<double>;

constexpr Row kLoops[] = {
    {"det", determinant_loop<double, false>, determinant_loop<Complex, false>},
    {"slogdet", determinant_loop<double, true>, determinant_loop<Complex, true>},
    {"solve", solve_loop<double, Sides::matrix>, solve_loop<Complex, Sides::matrix>},
    {"solve1", solve_loop<double, Sides::column>, solve_loop<Complex, Sides::column>},
    {"inv", solve_loop<double, Sides::identity>, solve_loop<Complex, Sides::identity>},
    {"cholesky_lo", cholesky_loop<double, true>, cholesky_loop<Complex, true>},
    {"cholesky_up", cholesky_loop<double, false>, cholesky_loop<Complex, false>},
};

}  // namespace

LoopFn lapack_loop(const char* ufunc, DType dtype, int64_t rows) {
  if (rows > kMostRows) return nullptr;
  for (const Row& row : kLoops) {
    if (std::strcmp(row.ufunc, ufunc) != 0) continue;
    if (dtype == DType::f64) return row.real;
    if (dtype == DType::c128) return row.complex;
  }
  return nullptr;
}

}  // namespace ofl::ops
