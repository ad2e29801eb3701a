// Orthogonal factors and least squares.
#include "ops/product/lapack_blocks.h"

namespace ofl::ops {

namespace {

constexpr int kBlockColumns = 32;

/// R and the reflectors replace the matrix.
template <typename T>
void factor(const LapackCall& call, int m, int n, int lead, T* matrix, T* factors) {
  int info = 0;
  const auto run = [&](const Workspace<T>& w) {
    call.routines<T>().geqrf(&m, &n, matrix, &lead, factors, w.work, &w.work_size, &info);
  };
  run(Workspace<T>(run));
}

/// The reflectors of a block are applied as one product, by a triangle that is made of them once.
template <typename T>
void factor_large(const LapackCall& call, int m, int n, Columns<T>* matrix, T* factors) {
  const LapackRoutines<T>& lapack = call.routines<T>();
  const char* const adjoint = LapackRoutines<T>::kComplex ? "C" : "T";
  const int lead = matrix->lead(), diagonal = std::min(m, n), width = kBlockColumns;
  const Elements<T> triangles(int64_t{diagonal} * width);
  const auto factor_block = [&](int first, int count) {
    T* const reflectors = &matrix->at(first, first);
    const int rows = m - first;
    factor(call, rows, count, lead, reflectors, factors + first);
    lapack.larft("F", "C", &rows, &count, reflectors, &lead, factors + first,
                 &triangles[int64_t{first} * width], &width, 1, 1);
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
  Columns<T> matrix(m, n);
  Elements<T> factors(count);
  const Outcome outcome;
  for (intptr_t i = 0; i < dims[0]; ++i) {
    matrix.take(operands.at(0, i));
    if (count > kMostWhole) {
      factor_large(call, m, n, &matrix, factors.data());
    } else {
      factor(call, m, n, matrix.lead(), matrix.data(), factors.data());
    }
    matrix.give(operands.at(0, i));
    give_vector(factors.data(), operands.at(1, i), count);
  }
}

/// Columns of the orthogonal factor, in parts: a reflector leaves the columns before it alone, so
/// that the first parts want a few of them only.
template <typename T>
void orthogonal_large(const LapackCall& call, int m, int count, int columns,
                      const Columns<T>& reflectors, const T* factors, Columns<T>* q) {
  q->fill_identity();
  const int parts = (columns + kPartColumns - 1) / kPartColumns;
  share_parts<T>(call, parts, double(m) * count * columns, [&](int64_t i) {
    const int first = static_cast<int>(i) * kPartColumns;
    const int end = std::min(columns, first + kPartColumns);
    const int wanted = end - first, reflecting = std::min(count, end), lead = q->lead();
    int info = 0;
    const auto run = [&](const Workspace<T>& w) {
      call.routines<T>().ormqr("L", "N", &m, &wanted, &reflecting, reflectors.data(), &lead,
                               factors, &q->at(0, first), &lead, w.work, &w.work_size, &info, 1, 1);
    };
    run(Workspace<T>(run));
  });
}

/// The orthogonal factor of the reflectors, as many columns of it as the result has.
template <typename T, bool Complete>
void orthogonal_loop(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
  const LapackCall& call = *static_cast<const LapackCall*>(data);
  const LoopOperands operands(args, steps, {2, 1, 2});
  const int m = static_cast<int>(dims[1]), n = static_cast<int>(dims[2]);
  const int count = std::min(m, n), columns = Complete ? m : count;
  const bool large = count > kMostWhole;
  Columns<T> q(m, columns), reflectors(m, large ? count : 0);
  Elements<T> factors(count);
  const int lead = q.lead();
  int info = 0;
  const auto run = [&](const Workspace<T>& w) {
    call.routines<T>().orgqr(&m, &columns, &count, q.data(), &lead, factors.data(), w.work,
                             &w.work_size, &info);
  };
  const Workspace<T> workspace(run);
  const Outcome outcome;
  for (intptr_t i = 0; i < dims[0]; ++i) {
    take_vector(operands.at(1, i), factors.data(), count);
    if (large) {
      reflectors.take(operands.at(0, i));
      orthogonal_large(call, m, count, columns, reflectors, factors.data(), &q);
    } else {
      q.take(operands.at(0, i), m, count);
      run(workspace);
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
