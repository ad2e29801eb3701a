// Orthogonal factors and least squares.
#include "ops/product/lapack_blocks.h"

namespace ofl::ops {

namespace {

/// Reflectors that are applied as one product: of small matrices, of larger ones, of those whose
/// columns are shared out. The library has 32 for all, and none up to 128 columns.
constexpr int kFewReflectors = 8, kSomeReflectors = 16, kBlockColumns = 32;
constexpr int kFewColumns = 128;
/// So few columns are factored one by one.
constexpr int kLeastBlocked = 48;

int reflectors_at_once(int count) {
  return count <= kFewColumns ? kFewReflectors : kSomeReflectors;
}

/// The triangle by which reflectors are applied as one product.
template <typename T>
void make_triangle(const LapackRoutines<T>& lapack, int rows, int count, const T* reflectors,
                   int lead, const T* factors, T* triangle, int width) {
  lapack.larft("F", "C", &rows, &count, reflectors, &lead, factors, triangle, &width, 1, 1);
}

/// R and the reflectors replace the first `count` columns of m rows; the other columns are brought
/// up to date. `width` reflectors are applied at once.
template <typename T>
void factor_columns(const LapackRoutines<T>& lapack, int m, int count, int n, int width, T* matrix,
                    int lead, T* factors) {
  const char* const adjoint = LapackRoutines<T>::kComplex ? "C" : "T";
  const Elements<T> triangle(width * width), work(int64_t{n} * width);
  for (int first = 0; first < count; first += width) {
    const int some = std::min(width, count - first), rows = m - first, rest = n - first - some;
    T* const reflectors = matrix + first + int64_t{first} * lead;
    int info = 0;
    lapack.geqr2(&rows, &some, reflectors, &lead, factors + first, work.data(), &info);
    if (rest == 0) continue;
    make_triangle(lapack, rows, some, reflectors, lead, factors + first, triangle.data(), width);
    lapack.larfb("L", adjoint, "F", "C", &rows, &rest, &some, reflectors, &lead, triangle.data(),
                 &width, reflectors + int64_t{some} * lead, &lead, work.data(), &rest, 1, 1, 1, 1);
  }
}

/// The columns beside a block are shared out.
template <typename T>
void factor_large(const LapackCall& call, int m, int n, Columns<T>* matrix, T* factors) {
  const LapackRoutines<T>& lapack = call.routines<T>();
  const char* const adjoint = LapackRoutines<T>::kComplex ? "C" : "T";
  const int lead = matrix->lead(), diagonal = std::min(m, n), width = kBlockColumns;
  const Elements<T> triangles(int64_t{diagonal} * width);
  const auto factor_block = [&](int first, int count) {
    T* const reflectors = &matrix->at(first, first);
    const int rows = m - first;
    factor_columns(lapack, rows, count, count, kFewReflectors, reflectors, lead, factors + first);
    make_triangle(lapack, rows, count, reflectors, lead, factors + first,
                  &triangles[int64_t{first} * width], width);
    return true;
  };
  const auto update = [&](int first, int count, int from, int columns) {
    const Elements<T> work(int64_t{columns} * count);
    const int rows = m - first;
    lapack.larfb("L", adjoint, "F", "C", &rows, &columns, &count, &matrix->at(first, first), &lead,
                 &triangles[int64_t{first} * width], &width, &matrix->at(first, from), &lead,
                 work.data(), &columns, 1, 1, 1, 1);
  };
  factor_blocks<T>(call, {width, diagonal, m, n}, factor_block, update);
}

/// R and the reflectors replace the operand.
template <typename T>
void qr_loop(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
  const LapackCall& call = *static_cast<const LapackCall*>(data);
  const LoopOperands operands(args, steps, {2, 1});
  const int m = static_cast<int>(dims[1]), n = static_cast<int>(dims[2]);
  const int count = std::min(m, n);
  const int width = count < kLeastBlocked ? std::max(count, 1) : reflectors_at_once(count);
  Columns<T> matrix(m, n);
  Elements<T> factors(count);
  const Outcome outcome;
  for (intptr_t i = 0; i < dims[0]; ++i) {
    matrix.take(operands.at(0, i));
    if (count > kMostWhole) {
      factor_large(call, m, n, &matrix, factors.data());
    } else {
      factor_columns(call.routines<T>(), m, count, n, width, matrix.data(), matrix.lead(),
                     factors.data());
    }
    matrix.give(operands.at(0, i));
    give_vector(factors.data(), operands.at(1, i), count);
  }
}

/// Reflectors and the triangles of their blocks, all that the orthogonal factor is made of.
template <typename T>
struct Reflectors {
  const LapackRoutines<T>& lapack;
  const Columns<T>& columns;
  const T* factors;
  int rows, count, width;
  Elements<T> triangles;

  void make_triangles() const {
    for (int first = 0; first < count; first += width) {
      make_triangle(lapack, rows - first, std::min(width, count - first), &columns.at(first, first),
                    columns.lead(), factors + first, &triangles[int64_t{first} * width], width);
    }
  }

  /// Columns [from, end) of the factor replace those of the identity, the last reflectors first.
  /// A reflector leaves the columns before it alone.
  void apply(int from, int end, Columns<T>* q) const {
    const Elements<T> work(int64_t{end - from} * width);
    const int lead = columns.lead();
    for (int first = (std::min(count, end) - 1) / width * width; first >= 0; first -= width) {
      const int some = std::min(width, count - first), height = rows - first;
      const int left = std::max(from, first), wanted = end - left;
      lapack.larfb("L", "N", "F", "C", &height, &wanted, &some, &columns.at(first, first), &lead,
                   &triangles[int64_t{first} * width], &width, &q->at(first, left), &lead,
                   work.data(), &wanted, 1, 1, 1, 1);
    }
  }
};

/// The orthogonal factor of the reflectors, as many columns of it as the result has; parts of many
/// are shared out.
template <typename T, bool Complete>
void orthogonal_loop(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
  const LapackCall& call = *static_cast<const LapackCall*>(data);
  const LoopOperands operands(args, steps, {2, 1, 2});
  const int m = static_cast<int>(dims[1]), n = static_cast<int>(dims[2]);
  const int count = std::min(m, n), columns = Complete ? m : count;
  const bool large = count > kMostWhole;
  const int step = large ? kPartColumns : std::max(columns, 1);
  const int parts = (columns + step - 1) / step;
  Columns<T> q(m, columns), given(m, count);
  Elements<T> factors(count);
  const int width = large ? kBlockColumns : reflectors_at_once(count);
  const Reflectors<T> reflectors{call.routines<T>(),
                                 given,
                                 factors.data(),
                                 m,
                                 count,
                                 width,
                                 Elements<T>(int64_t{count} * width)};
  const Outcome outcome;
  for (intptr_t i = 0; i < dims[0]; ++i) {
    take_vector(operands.at(1, i), factors.data(), count);
    given.take(operands.at(0, i));
    q.fill_identity();
    if (count > 0) {
      reflectors.make_triangles();
      share_parts<T>(call, parts, double(m) * count * columns, [&](int64_t part) {
        const int from = static_cast<int>(part) * step;
        reflectors.apply(from, std::min(columns, from + step), &q);
      });
    }
    q.give(operands.at(2, i));
  }
}

/// Of the rows that a solution of full rank leaves over: the sum of squared absolute values.
template <typename T>
double residual(const T* column, int first, int rows) {
  double sum = 0;
  for (int i = first; i < rows; ++i) {
    const double real = std::real(column[i]), imag = std::imag(column[i]);
    if constexpr (LapackRoutines<T>::kComplex) {
      sum += real * real + imag * imag;
    } else {
      sum += real * real;
    }
  }
  return sum;
}

template <typename T>
void least_squares_loop(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
  const auto& lapack = static_cast<const LapackCall*>(data)->routines<T>();
  const LoopOperands operands(args, steps, {2, 2, 0, 2, 1, 0, 1});
  const int m = static_cast<int>(dims[1]), n = static_cast<int>(dims[2]);
  const int sides = static_cast<int>(dims[3]), smaller = std::min(m, n);
  Columns<T> matrix(m, n), x(std::max(m, n), sides);
  Elements<double> values(smaller);
  const int lead = matrix.lead(), x_lead = x.lead();
  double limit = 0;
  int rank = 0, info = 0;
  const auto run = [&](const Workspace<T>& w) {
    if constexpr (LapackRoutines<T>::kComplex) {
      lapack.gelsd(&m, &n, &sides, matrix.data(), &lead, x.data(), &x_lead, values.data(), &limit,
                   &rank, w.work, &w.work_size, w.reals, w.integers, &info);
    } else {
      lapack.gelsd(&m, &n, &sides, matrix.data(), &lead, x.data(), &x_lead, values.data(), &limit,
                   &rank, w.work, &w.work_size, w.integers, &info);
    }
  };
  const Workspace<T> workspace(run);
  Outcome outcome;
  for (intptr_t i = 0; i < dims[0]; ++i) {
    matrix.take(operands.at(0, i));
    x.take(operands.at(1, i), m, sides);
    limit = operands.at(2, i).template at<double>(0);
    run(workspace);
    if (info != 0) {
      outcome.failed = true;
      rank = -1;
      x.fill(not_a_number<T>());
      std::fill_n(values.data(), smaller, not_a_number<double>());
    }
    x.give(operands.at(3, i), n, sides);
    const bool is_full = m >= n && rank == n;
    for (int side = 0; side < sides; ++side) {
      operands.at(4, i).template at<double>(side) =
          is_full ? residual(&x.at(0, side), n, m) : not_a_number<double>();
    }
    operands.at(5, i).template at<int>(0) = rank;
    give_vector(values.data(), operands.at(6, i), smaller);
  }
}

constexpr LapackRow kRows[] = {
    {"qr_r_raw", qr_loop<double>, qr_loop<Complex>},
    {"qr_reduced", orthogonal_loop<double, false>, orthogonal_loop<Complex, false>},
    {"qr_complete", orthogonal_loop<double, true>, orthogonal_loop<Complex, true>},
    {"lstsq", least_squares_loop<double>, least_squares_loop<Complex>},
};

}  // namespace

LapackRows orthogonal_rows() { return {std::begin(kRows), std::end(kRows)}; }

}  // namespace ofl::ops
