#include "ops/product/gemm_plan.h"

#include <cstdlib>

namespace ofl::ops {

namespace {

enum Operand { kA, kB, kOut };

/// Rows of several products in one: those of a batch row that b does not have.
bool fold_into_rows(const BatchRow& row, Product* p) {
  if (row.b != 0) return false;
  if (p->m() != 1) {
    if (row.a != p->m() * p->a.row_step || row.out != p->m() * p->out.row_step) return false;
  } else {
    p->a.row_step = row.a;
    p->out.row_step = row.out;
  }
  p->a.rows *= row.dim;
  p->out.rows *= row.dim;
  return true;
}

bool fold_into_columns(const BatchRow& row, Product* p) {
  Product turned = p->transposed();
  if (!fold_into_rows({row.dim, row.b, row.a, row.out}, &turned)) return false;
  *p = turned.transposed();
  return true;
}

bool steps_together(const BatchRow& outer, const BatchRow& inner) {
  return outer.a == inner.a * inner.dim && outer.b == inner.b * inner.dim &&
         outer.out == inner.out * inner.dim;
}

void add_batch_row(const BatchRow& row, BatchedProduct* plan) {
  if (row.dim == 1) return;
  if (!plan->batch.empty() && steps_together(plan->batch.back(), row)) {
    const int64_t dim = plan->batch.back().dim * row.dim;
    plan->batch.back() = {dim, row.a, row.b, row.out};
  } else {
    plan->batch.push_back(row);
  }
}

}  // namespace

int64_t BatchedProduct::count() const {
  int64_t n = 1;
  for (const BatchRow& row : batch) n *= row.dim;
  return n;
}

Product BatchedProduct::operator[](int64_t index) const {
  Product p = first;
  for (int d = batch.size() - 1; d >= 0; --d) {
    const BatchRow& row = batch[d];
    const int64_t i = d ? index % row.dim : index;
    if (d) index /= row.dim;
    p.a.data += i * row.a;
    p.b.data += i * row.b;
    p.out.data += i * row.out;
  }
  return p;
}

BatchedProduct plan_products(const LoopArgs& args) {
  const Iteration& iteration = args.iteration;
  const int batch_rows = iteration.ndim - 3;
  const Iteration::Row& m = iteration.rows[batch_rows];
  const Iteration::Row& k = iteration.rows[batch_rows + 1];
  const Iteration::Row& n = iteration.rows[batch_rows + 2];
  BatchedProduct plan;
  plan.first = {
      {args.data[kA], args.dtype[kA], m.dim, k.dim, m.strides[kA], k.strides[kA]},
      {args.data[kB], args.dtype[kB], k.dim, n.dim, k.strides[kB], n.strides[kB]},
      {args.data[kOut], args.dtype[kOut], m.dim, n.dim, m.strides[kOut], n.strides[kOut]}};
  for (int d = 0; d < batch_rows; ++d) {
    const Iteration::Row& row = iteration.rows[d];
    add_batch_row({row.dim, row.strides[kA], row.strides[kB], row.strides[kOut]}, &plan);
  }
  while (!plan.batch.empty() && (fold_into_rows(plan.batch.back(), &plan.first) ||
                                 fold_into_columns(plan.batch.back(), &plan.first))) {
    plan.batch.pop_back();
  }
  const Matrix& out = plan.first.out;
  const auto item = static_cast<int64_t>(size_of(out.dtype));
  if (out.columns > 1 && out.column_step != item && (out.row_step == item || out.rows == 1)) {
    plan.first = plan.first.transposed();
    for (BatchRow& row : plan.batch) std::swap(row.a, row.b);
  }
  plan.first.adds = adds_to_result(args);
  plan.first.conjugates = conjugates_left(args);
  return plan;
}

PackedMatrix::PackedMatrix(const Matrix& x, DType dtype) {
  const auto item = static_cast<int64_t>(size_of(dtype));
  memory_.reset(new char[x.rows * x.columns * item]);
  matrix_ = {memory_.get(), dtype, x.rows, x.columns, x.columns * item, item};
}

PackedMatrix::PackedMatrix(const Matrix& x, DType dtype, ep::HelperPool* helpers)
    : PackedMatrix(x, dtype) {
  if (std::abs(x.row_step) < std::abs(x.column_step)) {
    matrix_.row_step = matrix_.column_step;
    matrix_.column_step *= x.rows;
  }
  copy_matrix(x, matrix_, helpers);
}

void copy_matrix(const Matrix& from, const Matrix& to, ep::HelperPool* helpers) {
  LoopArgs args;
  args.data[0] = from.data;
  args.data[1] = to.data;
  args.dtype[0] = from.dtype;
  args.dtype[1] = to.dtype;
  args.helpers = helpers;
  args.iteration.operands = 2;
  args.iteration.ndim = 2;
  args.iteration.rows[0] = {from.rows, {from.row_step, to.row_step}};
  args.iteration.rows[1] = {from.columns, {from.column_step, to.column_step}};
  copy_kernel(args);
}

double product_work(int64_t m, int64_t k, int64_t n, DType dtype) {
  // Seen: 0.013 ns for a multiplication and addition of float32, some ten times that of integers,
  // and 0.1 ns for an element that is read or written; a float32 addition takes 0.3 ns.
  // Calling a routine takes some 30 ns.
  const bool exact = is_integer(dtype) || dtype == DType::b1;
  const double multiply = exact ? 0.2 : 0.045, memory = 0.3, call = 100;
  const auto item = static_cast<double>(std::max(sizeof(float), size_of(dtype)));
  const double dm = static_cast<double>(m), dk = static_cast<double>(k);
  const double dn = static_cast<double>(n);
  // Seen: 0.005 ns for an element of bool beside a vector, of which most are not looked at.
  if (dtype == DType::b1 && (m == 1 || n == 1)) return call + 0.02 * dm * dk * dn;
  const double elements = dm * dk + dk * dn + dm * dn;
  return call + (dm * dk * dn * multiply + elements * memory) * item / sizeof(float);
}

namespace {

/// The largest number of pieces, up to `pieces`, of which none is much shorter than the others.
int64_t cut_length(int64_t length, int64_t pieces, int64_t multiple, int64_t* step) {
  for (; pieces > 1; --pieces) {
    *step = std::max<int64_t>(1, (length + pieces * multiple / 2) / (pieces * multiple)) * multiple;
    if (2 * (length - (pieces - 1) * *step) >= *step) return pieces;
  }
  *step = length;
  return 1;
}

/// More rows are cut by the outermost loop of a routine itself, wherever its buffer ends.
constexpr int64_t kMostRows = 84 * kAlignedRows;
/// Fewer columns are not worth packing the rows once more.
constexpr int64_t kLeastColumns = 256;
/// No routine cuts a sum of so many products.
constexpr int64_t kUncut = 256;

double multiplications(const Product& p) {
  return static_cast<double>(p.m()) * static_cast<double>(p.k()) * static_cast<double>(p.n());
}

/// Multiplications of the least part. Routines have other kernels for small products: OpenBLAS's
/// for up to 10^6, and for up to 7.3 * 10^6 of float32, whose sums are not cut.
double least_part(const Product& p, DType dtype) {
  return dtype == DType::f32 && p.k() > kUncut ? 1 << 23 : 1 << 20;
}

}  // namespace

Grid cut(const Product& p, int64_t parts) {
  // Multiples of what the loops take at once, and enough of them to be worth packing the others.
  constexpr int64_t kRowMultiple = 48, kColumnMultiple = 192, kLeast = 96;
  // Packing the rows once more for each column of parts costs twice as much as the opposite.
  constexpr int64_t kColumnCost = 2;
  Grid grid{0, 0, 0, 0};
  int64_t least = 0;
  for (int64_t r = 1; r <= std::min(parts, std::max<int64_t>(1, p.m() / kLeast)); ++r) {
    Grid one;
    one.rows = cut_length(p.m(), r, kRowMultiple, &one.row_step);
    one.columns = cut_length(p.n(), std::min(parts / r, std::max<int64_t>(1, p.n() / kLeast)),
                             kColumnMultiple, &one.column_step);
    const int64_t cost = one.rows * p.n() + one.columns * p.m() * kColumnCost;
    if (one.count() > grid.count() || (one.count() == grid.count() && cost < least)) {
      grid = one;
      least = cost;
    }
  }
  return grid;
}

Grid cut_rows(const Product& p, DType dtype, int64_t threads, int64_t most_rows) {
  const double work = product_work(p.m(), p.k(), p.n(), dtype);
  const auto most = static_cast<int64_t>(multiplications(p) / (2 * least_part(p, dtype)));
  int64_t parts = std::min(threads, static_cast<int64_t>(work / kPieceWork));
  parts = std::max(parts, (p.m() + most_rows - 1) / most_rows);
  parts = std::min({parts, most, p.m() / kAlignedRows});
  parts = std::max(parts, (p.m() + kMostRows - 1) / kMostRows);
  // Whether or not there are threads: one part would be in another kernel than two.
  if (most < 2 && work >= kCutWork && p.m() >= 2 * kAlignedRows) parts = 2;
  Grid grid{1, 1, p.m(), p.n()};
  grid.rows = cut_length(p.m(), parts, kAlignedRows, &grid.row_step);
  return grid;
}

Grid cut_columns(const Product& p, DType dtype) {
  const double work = product_work(p.m(), p.k(), p.n(), dtype);
  int64_t parts = std::min(p.n() / kLeastColumns, static_cast<int64_t>(work / kPieceWork));
  if (parts > 1) parts -= parts % 2;  // most often two threads share them, or four
  Grid grid{1, 1, p.m(), p.n()};
  grid.columns = cut_length(p.n(), parts, kAlignedRows, &grid.column_step);
  return grid;
}

}  // namespace ofl::ops
