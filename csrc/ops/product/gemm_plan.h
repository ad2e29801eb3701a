// A batch of matrix products as few and as large ones as its strides allow, how their work is
// divided, and operands copied where a routine cannot take them as they lie. The files gemm*.cpp
// share it.
#pragma once

#include <algorithm>
#include <memory>

#include "ops/pieces.h"

namespace ofl::ops {

/// A matrix as it lies in memory; steps in bytes, of any sign.
struct Matrix {
  char* data = nullptr;
  DType dtype = DType::f64;
  int64_t rows = 0, columns = 0;
  int64_t row_step = 0, column_step = 0;

  Matrix transposed() const { return {data, dtype, columns, rows, column_step, row_step}; }
  Matrix block(int64_t row, int64_t row_count, int64_t column, int64_t column_count) const {
    char* first = data + row * row_step + column * column_step;
    return {first, dtype, row_count, column_count, row_step, column_step};
  }
};

/// out = a @ b, or out += a @ b. `out` shares no memory with the others.
struct Product {
  Matrix a, b, out;
  bool adds = false;
  bool conjugates = false;  // a; of two vectors

  int64_t m() const { return a.rows; }
  int64_t k() const { return a.columns; }
  int64_t n() const { return b.columns; }
  /// The same product, as out.T = b.T @ a.T.
  Product transposed() const { return {b.transposed(), a.transposed(), out.transposed(), adds}; }
  /// The part that makes these rows and columns of out.
  Product block(int64_t row, int64_t row_count, int64_t column, int64_t column_count) const {
    return {a.block(row, row_count, 0, k()), b.block(0, k(), column, column_count),
            out.block(row, row_count, column, column_count), adds, conjugates};
  }
};

/// A loop around products.
struct BatchRow {
  int64_t dim;
  int64_t a, b, out;  // steps in bytes
};

struct BatchedProduct {
  Product first;
  SmallVector<BatchRow, 4> batch;  // outermost first; no dim is 1

  int64_t count() const;
  /// Number `index` of the batch, in row-major order.
  Product operator[](int64_t index) const;
};

/// The call of a matmul kernel. Batch dimensions become rows or columns of the matrices where one
/// operand has none and the strides allow it; `out` has unit steps along its rows where possible.
BatchedProduct plan_products(const LoopArgs& args);

/// Work of a product in float32 additions: multiplying, and each matrix once through memory.
double product_work(int64_t m, int64_t k, int64_t n, DType dtype);

/// Memory for a copy of an operand.
class PackedMatrix {
 public:
  /// A copy of `x` in another dtype (or the same), in the order in which x lies.
  PackedMatrix(const Matrix& x, DType dtype, ep::HelperPool* helpers);
  /// Of the shape of `x`, row-major, not initialized.
  PackedMatrix(const Matrix& x, DType dtype);

  const Matrix& matrix() const { return matrix_; }

 private:
  std::unique_ptr<char[]> memory_;
  Matrix matrix_;
};

/// to = from, cast.
void copy_matrix(const Matrix& from, const Matrix& to, ep::HelperPool* helpers);

/// How one product is cut: `rows` x `columns` parts of `row_step` rows and `column_step` columns;
/// the last ones take the rest.
struct Grid {
  int64_t rows, columns;
  int64_t row_step, column_step;

  int64_t count() const { return rows * columns; }
  Product part(const Product& whole, int64_t index) const {
    const int64_t i = index / columns, j = index % columns;
    const int64_t row = i * row_step, column = j * column_step;
    return whole.block(row, i == rows - 1 ? whole.m() - row : row_step, column,
                       j == columns - 1 ? whole.n() - column : column_step);
  }
};

/// Calls body(i) once for each of `count` parts that take `total` work, on the helpers where there
/// are some: parts in a row at once that together are about a quarter of a piece, if enough remain
/// for all threads.
template <typename Body>
void share(ep::HelperPool* helpers, int64_t count, double total, const Body& body) {
  const auto run = [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) body(i);
  };
  if (!helpers) return run(0, count);
  const double part = total / static_cast<double>(std::max<int64_t>(count, 1));
  const int64_t most = std::max<int64_t>(count / (8 * helpers->threads()), 1);
  const double quarter = kPieceWork / 4 / std::max(part, 1.0);
  const int64_t step = std::clamp<int64_t>(static_cast<int64_t>(quarter), 1, most);
  const auto weight = static_cast<int64_t>(static_cast<double>(step) * part / kPieceWork);
  helpers->parallel_for((count + step - 1) / step,
                        [&](int64_t i) { run(i * step, std::min(count, (i + 1) * step)); },
                        1 + weight);
}

/// Up to `parts` parts, as many as there are rows and columns for. Of products that are exact.
Grid cut(const Product& p, int64_t parts);

/// The least work of a product that is cut, in float32 additions. It takes some 30 us.
inline constexpr double kCutWork = 1.5 * kPieceWork;

/// Parts of matrices are multiples of this: the rows that the routines' loops take at once.
inline constexpr int64_t kAlignedRows = 48;

/// Parts of some rows, of `most_rows` where that is possible, for so many threads. The bits are the
/// same for any number of threads: the routines' loops leave no rest at a cut, and how their sums
/// are cut depends on k alone. `p` has row-major results.
Grid cut_rows(const Product& p, DType dtype, int64_t threads, int64_t most_rows);

/// Parts of some columns, which the shape alone decides: what a routine does at the end of a row
/// depends on how many columns it has.
Grid cut_columns(const Product& p, DType dtype);

/// Too few rows to cut: cut_columns is for these.
inline bool has_few_rows(const Product& p) { return p.m() < std::min(4 * kAlignedRows, p.n()); }

}  // namespace ofl::ops
