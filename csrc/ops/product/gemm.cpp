// Products by BLAS, or by our own loops where these are faster (gemm_panels.h). The routines run in
// one thread each; large products are cut into parts for the helpers. Operands are passed as they
// lie where a routine can take them, and copied where not.
#include "ops/product/gemm.h"

#include <climits>
#include <cstring>
#include <optional>
#include <vector>

#include "ops/pieces.h"
#include "ops/product/gemm_panels.h"
#include "ops/product/gemm_plan.h"

namespace ofl::ops {

namespace {

/// Bytes of an operand that are copied at a time, where it has to be copied.
constexpr int64_t kPackBytes = int64_t{4} << 20;
/// Of vectors and of the inner dimension: what makes one partial sum.
constexpr int64_t kInnerPart = 1 << 15, kMostInnerParts = 64;
/// Rows of a block of a symmetric product.
constexpr int64_t kSymmetricLeast = 4 * kAlignedRows, kSymmetricMost = 8 * kAlignedRows;
/// Elements of a matrix that is multiplied with a vector, in one part.
constexpr int64_t kVectorPart = 1 << 17;
/// Bytes of neighbours that one part reads at least.
constexpr int64_t kLongRun = 4096;

/// How a routine sees a matrix.
struct Lie {
  int trans = kNoTrans;
  int64_t lead = 0;  // elements from one row, or column, to the next
};

/// nullopt: a routine cannot take it; neither its rows nor its columns are contiguous.
template <typename T>
std::optional<Lie> lie_of(const Matrix& x) {
  constexpr int64_t kItem = sizeof(T);
  const auto is_lead = [](int64_t step, int64_t length) {
    return step % kItem == 0 && step >= length * kItem && step / kItem <= INT_MAX;
  };
  if (x.column_step == kItem || x.columns == 1) {
    if (x.rows == 1) return Lie{kNoTrans, x.columns};
    if (is_lead(x.row_step, x.columns)) return Lie{kNoTrans, x.row_step / kItem};
  }
  if (x.row_step == kItem || x.rows == 1) {
    if (x.columns == 1) return Lie{kTrans, x.rows};
    if (is_lead(x.column_step, x.rows)) return Lie{kTrans, x.column_step / kItem};
  }
  return std::nullopt;
}

template <typename T>
bool is_as_wanted(const Matrix& x) {
  return size_of(x.dtype) == sizeof(T) && lie_of<T>(x);
}

/// A column of elements with one step, as routines take it.
template <typename T>
struct Vector {
  explicit Vector(const Matrix& column) : step(column.row_step / int64_t(sizeof(T))) {
    data = reinterpret_cast<T*>(column.data);
    if (column.rows == 1) step = 1;
    if (step < 0) data += (column.rows - 1) * step;  // routines count from the lowest address
  }
  static bool fits(const Matrix& column) {
    const int64_t steps = column.row_step / int64_t(sizeof(T));
    return size_of(column.dtype) == sizeof(T) &&
           (column.rows == 1 || (column.row_step % int64_t(sizeof(T)) == 0 && steps != 0 &&
                                 std::abs(steps) <= INT_MAX));
  }
  T* data;
  int64_t step;
};

template <typename T>
class Multiplier {
 public:
  Multiplier(const Blas& blas, DType dtype, ep::HelperPool* helpers)
      : routines_(blas.of<T>()), panels_(blas.own_loops), dtype_(dtype), helpers_(helpers) {}

  void run(BatchedProduct& plan) const;

 private:
  using Routines = BlasRoutines<T>;

  void run_one(const Product& whole, ep::HelperPool* helpers) const;
  void run_in_thread(const Product& p) const;
  bool run_dots(const BatchedProduct& plan, int64_t begin, int64_t end) const;
  void run_some(const BatchedProduct& plan, int64_t begin, int64_t end) const;
  void run_parts(const Product& whole, ep::HelperPool* helpers) const;
  void run_part(const Product& part) const;
  Matrix packed_out(const Product& p, std::optional<PackedMatrix>* made) const;
  void gemm(const Product& p) const;
  bool vector_product(const Product& p) const;
  void multiply_vector(const Product& whole, ep::HelperPool* helpers) const;
  void sum_parts(const Product& whole, ep::HelperPool* helpers) const;
  bool is_symmetric(const Product& p) const;
  void symmetric(const Product& given, ep::HelperPool* helpers) const;
  void on_diagonal(const Product& part) const;
  double work(const Product& p) const { return product_work(p.m(), p.k(), p.n(), dtype_); }

  const Routines& routines_;
  const bool panels_;
  const DType dtype_;  // of T
  ep::HelperPool* const helpers_;
};

template <typename T>
void Multiplier<T>::gemm(const Product& p) const {
  const Lie a = *lie_of<T>(p.a), b = *lie_of<T>(p.b), out = *lie_of<T>(p.out);
  if (out.trans == kTrans) return gemm(p.transposed());
  const T beta(p.adds ? 1 : 0);
  routines_.gemm(kRowMajor, a.trans, b.trans, int(p.m()), int(p.n()), int(p.k()),
                 Routines::factor(T(1)), reinterpret_cast<T*>(p.a.data), int(a.lead),
                 reinterpret_cast<T*>(p.b.data), int(b.lead), Routines::factor(beta),
                 reinterpret_cast<T*>(p.out.data), int(out.lead));
}

/// A matrix with a vector, or two vectors; false where they do not lie as a routine wants.
template <typename T>
bool Multiplier<T>::vector_product(const Product& p) const {
  if (p.n() != 1) return p.m() == 1 && vector_product(p.transposed());
  if (!Vector<T>::fits(p.b) || !Vector<T>::fits(p.out)) return false;
  const Vector<T> x(p.b), y(p.out);
  if (p.m() == 1) {
    if (!Vector<T>::fits(p.a.transposed())) return false;
    const Vector<T> row(p.a.transposed());
    T sum;
    if constexpr (Routines::kComplex) {
      const auto dot = p.conjugates ? routines_.conjugated_dot : routines_.dot;
      dot(int(p.k()), row.data, int(row.step), x.data, int(x.step), &sum);
    } else {
      sum = routines_.dot(int(p.k()), row.data, int(row.step), x.data, int(x.step));
    }
    *y.data = p.adds ? *y.data + sum : sum;
    return true;
  }
  if (!is_as_wanted<T>(p.a)) return false;
  const Lie a = *lie_of<T>(p.a);
  const bool rows = a.trans == kNoTrans;
  const T beta(p.adds ? 1 : 0);
  routines_.gemv(kRowMajor, a.trans, int(rows ? p.m() : p.k()), int(rows ? p.k() : p.m()),
                 Routines::factor(T(1)), reinterpret_cast<T*>(p.a.data), int(a.lead), x.data,
                 int(x.step), Routines::factor(beta), y.data, int(y.step));
  return true;
}

template <typename T>
void Multiplier<T>::run_in_thread(const Product& p) const {
  if ((p.m() == 1 || p.n() == 1) && vector_product(p)) return;
  if (is_symmetric(p)) return symmetric(p, nullptr);
  const bool fits = is_as_wanted<T>(p.a) && is_as_wanted<T>(p.b) && is_as_wanted<T>(p.out);
  return fits ? gemm(p) : run_parts(p, nullptr);
}

/// Products of two vectors each, of real numbers. False where they are not small, or the routine
/// does not take such steps.
template <typename T>
bool Multiplier<T>::run_dots(const BatchedProduct& plan, int64_t begin, int64_t end) const {
  if constexpr (!Routines::kComplex) {
    const Product& first = plan.first;
    const bool fit = Vector<T>::fits(first.a.transposed()) && Vector<T>::fits(first.b) &&
                     Vector<T>::fits(first.out);
    if (!fit || first.adds || work(first) >= kSplitWork) return false;
    const BatchRow& row = plan.batch.back();
    const int k = int(first.k());
    for (int64_t i = begin; i < end;) {
      const Product p = plan[i];
      Vector<T> a(p.a.transposed()), b(p.b);
      char* out = p.out.data;
      const int64_t stop = std::min(end, i + row.dim - i % row.dim);
      for (; i < stop; ++i, out += row.out) {
        const T sum = routines_.dot(k, a.data, int(a.step), b.data, int(b.step));
        std::memcpy(out, &sum, sizeof(T));
        a.data = reinterpret_cast<T*>(reinterpret_cast<char*>(a.data) + row.a);
        b.data = reinterpret_cast<T*>(reinterpret_cast<char*>(b.data) + row.b);
      }
    }
    return true;
  }
  return false;
}

/// Some products of a batch. They lie alike, which is seen to once where they are small.
template <typename T>
void Multiplier<T>::run_some(const BatchedProduct& plan, int64_t begin, int64_t end) const {
  const Product& first = plan.first;
  const auto a = lie_of<T>(first.a), b = lie_of<T>(first.b), out = lie_of<T>(first.out);
  const bool wanted = size_of(first.a.dtype) == sizeof(T) && a && b && out;
  if (first.m() == 1 && first.n() == 1 && run_dots(plan, begin, end)) return;
  const bool special = first.m() == 1 || first.n() == 1;
  if (!wanted || special || out->trans == kTrans || work(first) >= kCutWork) {
    for (int64_t i = begin; i < end; ++i) run_one(plan[i], nullptr);
    return;
  }
  const int m = int(first.m()), n = int(first.n()), k = int(first.k());
  const T one(1), beta(first.adds ? 1 : 0);
  const BatchRow& row = plan.batch.back();
  for (int64_t i = begin; i < end;) {
    Product p = plan[i];
    const int64_t stop = std::min(end, i + row.dim - i % row.dim);
    for (; i < stop; ++i) {
      if (is_symmetric(p)) {  // perhaps one alone, as in x @ x[::-1].mT
        run_in_thread(p);
      } else {
        routines_.gemm(kRowMajor, a->trans, b->trans, m, n, k, Routines::factor(one),
                       reinterpret_cast<T*>(p.a.data), int(a->lead), reinterpret_cast<T*>(p.b.data),
                       int(b->lead), Routines::factor(beta), reinterpret_cast<T*>(p.out.data),
                       int(out->lead));
      }
      p.a.data += row.a;
      p.b.data += row.b;
      p.out.data += row.out;
    }
  }
}

/// Parts of a product for the helpers, and such that what has to be copied is copied by parts.
/// Where they begin never changes the bits (cut_rows, cut_columns).
template <typename T>
void Multiplier<T>::run_parts(const Product& whole, ep::HelperPool* helpers) const {
  const bool turned = is_as_wanted<T>(whole.out) && lie_of<T>(whole.out)->trans == kTrans;
  Product p = turned ? whole.transposed() : whole;
  const double total = work(p);
  const bool by_columns = has_few_rows(p) || (!is_as_wanted<T>(p.b) && p.n() > p.m());
  std::optional<PackedMatrix> once;  // what all parts read
  Matrix& shared = by_columns ? p.a : p.b;
  if (!is_as_wanted<T>(shared)) shared = once.emplace(shared, dtype_, helpers).matrix();
  const int64_t threads = is_divisible(helpers, total) ? helpers->threads() : 1;
  const bool copies = !is_as_wanted<T>(p.a) || !is_as_wanted<T>(p.out);
  const int64_t row_bytes = std::max(p.k(), p.n()) * int64_t(sizeof(T));
  const int64_t most_rows =
      copies ? std::max<int64_t>(2 * kAlignedRows, kPackBytes / row_bytes) : p.m();
  const Grid grid = by_columns ? cut_columns(p, dtype_) : cut_rows(p, dtype_, threads, most_rows);
  share(threads > 1 ? helpers : nullptr, grid.count(), total,
        [&](int64_t i) { run_part(grid.part(p, i)); });
}

/// Where a result that a routine cannot take is made; with what is there, if the product adds.
template <typename T>
Matrix Multiplier<T>::packed_out(const Product& p, std::optional<PackedMatrix>* made) const {
  return p.adds ? made->emplace(p.out, dtype_, nullptr).matrix()
                : made->emplace(p.out, dtype_).matrix();
}

template <typename T>
void Multiplier<T>::run_part(const Product& part) const {
  Product p = part;
  std::optional<PackedMatrix> a, b, out;
  if (!is_as_wanted<T>(p.a)) p.a = a.emplace(p.a, dtype_, nullptr).matrix();
  if (!is_as_wanted<T>(p.b)) p.b = b.emplace(p.b, dtype_, nullptr).matrix();
  if (!is_as_wanted<T>(p.out)) p.out = packed_out(p, &out);
  gemm(p);
  if (out) copy_matrix(p.out, part.out, nullptr);
}

/// Few rows and columns, but a long sum: parts of the sum, added in their order.
template <typename T>
void Multiplier<T>::sum_parts(const Product& whole, ep::HelperPool* helpers) const {
  const int64_t parts = std::min(whole.k() / kInnerPart, kMostInnerParts);
  const int64_t step = (whole.k() + parts - 1) / parts;
  const int64_t size = whole.m() * whole.n();
  std::vector<T> sums(size * parts);
  const int64_t item = sizeof(T);
  share(helpers, parts, work(whole), [&](int64_t i) {
    const int64_t first = i * step, count = std::min(step, whole.k() - first);
    if (count <= 0) return;
    char* sum = reinterpret_cast<char*>(sums.data() + i * size);
    run_in_thread({whole.a.block(0, whole.m(), first, count),
                   whole.b.block(first, count, 0, whole.n()),
                   {sum, dtype_, whole.m(), whole.n(), whole.n() * item, item},
                   false,
                   whole.conjugates});
  });
  for (int64_t i = 1; i < parts; ++i) {
    for (int64_t j = 0; j < size; ++j) sums[j] += sums[i * size + j];
  }
  const Matrix sum{
      reinterpret_cast<char*>(sums.data()), dtype_, whole.m(), whole.n(), whole.n() * item, item};
  if (whole.adds) {
    std::vector<T> before(size);
    Matrix there = sum;
    there.data = reinterpret_cast<char*>(before.data());
    copy_matrix(whole.out, there, nullptr);
    for (int64_t j = 0; j < size; ++j) sums[j] += before[j];
  }
  copy_matrix(sum, whole.out, nullptr);
}

/// x @ x.T, of which half is computed. What is added to need not be symmetric.
template <typename T>
bool Multiplier<T>::is_symmetric(const Product& p) const {
  return !p.adds && p.a.data == p.b.data && p.m() == p.n() && p.a.row_step == p.b.column_step &&
         p.a.column_step == p.b.row_step && p.m() > 1;
}

/// The blocks of the lower triangle, each copied to its place above.
template <typename T>
void Multiplier<T>::symmetric(const Product& given, ep::HelperPool* helpers) const {
  Product whole = given;
  std::optional<PackedMatrix> packed;
  if (!is_as_wanted<T>(whole.a)) {
    whole.a = packed.emplace(whole.a, dtype_, helpers).matrix();
    whole.b = whole.a.transposed();
  }
  const bool direct = is_as_wanted<T>(whole.out) && lie_of<T>(whole.out)->trans == kNoTrans;
  const int64_t n = whole.n();
  const int64_t step =
      std::clamp((n + 1) / 2 / kAlignedRows * kAlignedRows, kSymmetricLeast, kSymmetricMost);
  const int64_t parts = (n + step - 1) / step;
  const auto run = [&](int64_t index) {
    int64_t row = 0, column = index;
    while (column > row) column -= ++row;
    Product part = whole.block(row * step, std::min(step, n - row * step), column * step,
                               std::min(step, n - column * step));
    if (part.m() <= 0 || part.n() <= 0) return;
    const Matrix target = part.out;
    std::optional<PackedMatrix> made;
    if (!direct) part.out = made.emplace(target, dtype_).matrix();
    if (row != column) {
      gemm(part);
      const Matrix above = whole.out.block(column * step, part.n(), row * step, part.m());
      copy_matrix(part.out.transposed(), above, nullptr);
    } else {
      on_diagonal(part);
    }
    if (made) copy_matrix(part.out, target, nullptr);
  };
  share(helpers, parts * (parts + 1) / 2, work(whole) / 2, run);
}

/// A block on the diagonal: its lower triangle, copied to the upper one.
template <typename T>
void Multiplier<T>::on_diagonal(const Product& part) const {
  const Lie x = *lie_of<T>(part.a), out = *lie_of<T>(part.out);
  T* corner = reinterpret_cast<T*>(part.out.data);
  routines_.syrk(kRowMajor, kLower, x.trans, int(part.n()), int(part.k()), Routines::factor(T(1)),
                 reinterpret_cast<T*>(part.a.data), int(x.lead), Routines::factor(T(0)), corner,
                 int(out.lead));
  for (int64_t i = 1; i < part.n(); ++i) {
    for (int64_t j = 0; j < i; ++j) corner[j * out.lead + i] = corner[i * out.lead + j];
  }
}

/// A matrix with a vector: some rows in each part.
template <typename T>
void Multiplier<T>::multiply_vector(const Product& p, ep::HelperPool* helpers) const {
  if (p.m() == 1) return multiply_vector(p.transposed(), helpers);
  // Rows that lie across the memory are read together, in runs that are long enough.
  const bool is_across = std::abs(p.a.row_step) < std::abs(p.a.column_step);
  const int64_t least = is_across ? kLongRun / static_cast<int64_t>(sizeof(T)) / kAlignedRows : 1;
  const int64_t step = std::max(least, kVectorPart / p.k() / kAlignedRows) * kAlignedRows;
  share(
      is_divisible(helpers, work(p)) ? helpers : nullptr, (p.m() + step - 1) / step, work(p),
      [&](int64_t i) { run_in_thread(p.block(i * step, std::min(step, p.m() - i * step), 0, 1)); });
}

/// One product, by all threads where it is large, or where a helper is awake. How it is cut depends
/// on the helpers only where the bits do not.
template <typename T>
void Multiplier<T>::run_one(const Product& whole, ep::HelperPool* helpers) const {
  const double total = work(whole);
  const bool long_sum =
      whole.k() >= 2 * kInnerPart && whole.k() >= 64 * std::max(whole.m(), whole.n());
  const bool is_large = total >= kSplitWork;
  if (long_sum) return is_large ? sum_parts(whole, helpers) : run_in_thread(whole);
  const bool is_dot = whole.m() == 1 && whole.n() == 1;
  if (total < kCutWork || is_dot || whole.conjugates) return run_in_thread(whole);
  if (whole.m() == 1 || whole.n() == 1) return multiply_vector(whole, helpers);
  if (is_symmetric(whole)) {
    return is_divisible(helpers, total) ? symmetric(whole, helpers) : run_in_thread(whole);
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (is_large && panels_ && panel_product<T>(whole, helpers)) return;
  }
  run_parts(whole, helpers);
}

template <typename T>
void Multiplier<T>::run(BatchedProduct& plan) const {
  const int64_t count = plan.count();
  const double each = work(plan.first);
  if (count == 1) return run_one(plan.first, helpers_);
  if (!is_divisible(helpers_, each * static_cast<double>(count))) return run_some(plan, 0, count);
  if (count < 2 * helpers_->threads()) {
    for (int64_t i = 0; i < count; ++i) run_one(plan[i], helpers_);
    return;
  }
  const int64_t step = std::max<int64_t>(1, static_cast<int64_t>(kPieceWork / each));
  helpers_->parallel_for((count + step - 1) / step, [&](int64_t piece) {
    run_some(plan, piece * step, std::min(count, (piece + 1) * step));
  });
}

bool is_added(DType dtype) {
  const DTypeKind kind = info(dtype).kind;
  return kind == DTypeKind::floating || kind == DTypeKind::complex;
}

bool fits_in_int(const Product& p) { return std::max({p.m(), p.k(), p.n()}) <= INT_MAX; }

template <typename T>
void run(const Blas& blas, DType dtype, const LoopArgs& args, BatchedProduct& plan) {
  Multiplier<T>(blas, dtype, args.helpers).run(plan);
}

}  // namespace

bool can_add_product(const LoopArgs& args) {
  return blas() && is_added(args.dtype[args.size() - 1]) && fits_in_int(plan_products(args).first);
}

bool can_conjugate(const LoopArgs& args) {
  const Product p = plan_products(args).first;
  const auto fits = [](const Matrix& column) {
    return column.dtype == DType::c64 ? Vector<std::complex<float>>::fits(column)
                                      : Vector<std::complex<double>>::fits(column);
  };
  const DType dtype = args.dtype[args.size() - 1];
  return blas() && info(dtype).kind == DTypeKind::complex && args.iteration.ndim == 3 &&
         p.m() == 1 && p.n() == 1 && p.k() > 0 && fits_in_int(p) && fits(p.a.transposed()) &&
         fits(p.b);
}

bool blas_product(const Blas& blas, const LoopArgs& args) {
  BatchedProduct plan = plan_products(args);
  if (!fits_in_int(plan.first)) return false;
  switch (args.dtype[args.iteration.operands - 1]) {
    case DType::f16:
    case DType::bf16:
    case DType::f32: run<float>(blas, DType::f32, args, plan); break;
    case DType::f64: run<double>(blas, DType::f64, args, plan); break;
    case DType::c64: run<std::complex<float>>(blas, DType::c64, args, plan); break;
    case DType::c128: run<std::complex<double>>(blas, DType::c128, args, plan); break;
    default: return false;
  }
  return true;
}

}  // namespace ofl::ops
