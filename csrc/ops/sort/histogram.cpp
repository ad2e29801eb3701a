// How many elements fall between edges. Where the edges are about equally far apart, the bin of an
// element is guessed, and the edges beside it decide; else it is searched for.
#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "base/vectors.h"
#include "ops/pieces.h"
#include "ops/sort/order.h"

namespace ofl::ops {

namespace {

constexpr int kTogether = 256;

/// The bins between edges of type T, at least two of them. All comparisons have NumPy's order, in
/// which NaN is the last.
template <typename T>
class Bins {
 public:
  explicit Bins(std::vector<T> edges)
      : count_(static_cast<int64_t>(edges.size()) - 1), edges_(std::move(edges)) {
    first_ = static_cast<double>(edges_[0]);
    const double width =
        (static_cast<double>(edges_[count_]) - first_) / static_cast<double>(count_);
    scale_ = 1 / width;
    ascends_ = std::is_sorted(edges_.begin(), edges_.end(), [](T a, T b) { return before(a, b); });
    // Where neighbouring doubles are about a width apart, a guess is off by several bins.
    const double largest =
        std::max(std::abs(first_), std::abs(static_cast<double>(edges_[count_])));
    is_even_ = std::isfinite(scale_) && std::isfinite(width) &&
               width > 8 * std::numeric_limits<double>::epsilon() * largest &&
               count_ < (int64_t{1} << 30);
    for (int64_t i = 0; is_even_ && i <= count_; ++i) {
      const double place = first_ + static_cast<double>(i) * width;
      is_even_ = std::abs(static_cast<double>(edges_[i]) - place) < width / 4;
    }
  }

  int64_t count() const { return count_; }

  /// Adds 1 to a count of each element's bin, of which there are so many tables in turn; those that
  /// are outside are counted last.
  void count_elements(const T* x, int n, int64_t* counts, int tables) const {
    if (!ascends_) {
      for (int k = 0; k < n; ++k) count_between(x[k], counts, tables);
      return;
    }
    if (!any_within(x, n)) {
      counts[count_ * tables] += n;
      return;
    }
    int32_t found[kTogether];
    if (is_even_) {
      guess(x, n, found);
    } else {
      search(x, n, found);
    }
    for (int k = 0; k < n; ++k) ++counts[int64_t{found[k]} * tables + (k & (tables - 1))];
  }

 private:
  bool any_within(const T* x, int n) const {
    const T first = edges_[0], end = edges_[count_];
    int within = 0;
    for (int k = 0; k < n; ++k) within |= !before(x[k], first) & !before(end, x[k]);
    return within != 0;
  }

  /// By the place between the first and the last edge, which is off by less than a bin, and the
  /// edges there.
  void guess(const T* x, int n, int32_t* found) const {
    const auto last = static_cast<double>(count_ - 1);
    for (int k = 0; k < n; ++k) {
      double place = (static_cast<double>(x[k]) - first_) * scale_;
      place = place > 0 ? place : 0;  // of a NaN, too
      place = place < last ? place : last;
      found[k] = static_cast<int32_t>(place);
    }
    // Numbers instead of branches, so that vectors of elements are settled. No edge is NaN here.
    const T* const edges = edges_.data();
    const T first = edges[0], end = edges[count_];
    const auto outside = static_cast<int32_t>(count_);
    for (int k = 0; k < n; ++k) {
      const int32_t is_below = x[k] < edges[found[k]], is_within = x[k] < edges[found[k] + 1];
      const int32_t bin = std::min(found[k] + 1 - is_below - is_within, outside - 1);
      const int32_t is_inside = (x[k] >= first) & (x[k] <= end);
      found[k] = outside + (bin - outside) * is_inside;
    }
  }

  /// The bin, where the element is in one; moved is that, or beyond the bins.
  int32_t settled(T x, int32_t moved) const {
    const auto last = static_cast<int32_t>(count_ - 1);
    const bool is_outside = before(x, edges_[0]) | before(edges_[count_], x);
    const int32_t bin = moved < last ? moved : last;
    return is_outside ? last + 1 : bin;
  }

  /// Several go down together, without branches.
  void search(const T* x, int n, int32_t* found) const {
    std::fill_n(found, n, 0);
    const T* const edges = edges_.data();
    for (int64_t length = count_; length > 1;) {
      const auto half = static_cast<int32_t>(length / 2);
      for (int k = 0; k < n; ++k) found[k] += before(x[k], edges[found[k] + half]) ? 0 : half;
      length -= half;
    }
    for (int k = 0; k < n; ++k) found[k] = settled(x[k], found[k]);
  }

  /// Of edges that do not ascend, as with NaN among them: a bin has the elements before its end
  /// less those before its start.
  void count_between(T x, int64_t* counts, int tables) const {
    for (int64_t bin = 0; bin < count_; ++bin) {
      const T end = edges_[bin + 1];
      const int before_end = bin + 1 == count_ ? !before(end, x) : before(x, end);
      counts[bin * tables] += before_end - before(x, edges_[bin]);
    }
  }

  const int64_t count_;
  const std::vector<T> edges_;
  double first_, scale_;
  bool ascends_, is_even_;
};

/// Several tables in turn: elements that follow each other do not wait for one count.
constexpr int kTables = 4;
constexpr int64_t kShortTable = 1024;

/// Adds to the counts, of which the last is of those that are outside. `cast`: from the elements'
/// dtype to that of the edges.
template <typename T>
void count_part(const Bins<T>& bins, CastFn cast, const char* data, int64_t step, int64_t n,
                int64_t* counts) {
  const int64_t width = bins.count() + 1;
  const int tables = width <= kShortTable ? kTables : 1;
  std::vector<int64_t> made(width * tables);
  T values[kTogether];
  for (int64_t i = 0; i < n; i += kTogether) {
    const int together = static_cast<int>(std::min<int64_t>(kTogether, n - i));
    cast(data + i * step, step, reinterpret_cast<char*>(values), sizeof(T), together);
    bins.count_elements(values, together, made.data(), tables);
  }
  for (int64_t k = 0; k < width * tables; ++k) counts[k / tables] += made[k];
}

template <typename T>
using CountFn = void (*)(const Bins<T>& bins, CastFn cast, const char* data, int64_t step,
                         int64_t n, int64_t* counts);

// The same code for the vectors of each processor.
template <typename T>
OFL_AVX2 OFL_FLAT void count_256(const Bins<T>& bins, CastFn cast, const char* data, int64_t step,
                                 int64_t n, int64_t* counts) {
  count_part(bins, cast, data, step, n, counts);
}
template <typename T>
OFL_AVX512 OFL_FLAT void count_512(const Bins<T>& bins, CastFn cast, const char* data, int64_t step,
                                   int64_t n, int64_t* counts) {
  count_part(bins, cast, data, step, n, counts);
}

/// In numbers of type T.
template <typename T>
void count_all(const ArrayArgs& args, DType dtype) {
  using Count = CountFn<T>;
  static const auto count_some =
      choose_by_isa<Count>("histogram", count_part<T>, count_256<T>, count_512<T>);
  const ArrayView &x = args.input(0), &edges = args.input(1), &out = args.output(0);
  const int64_t n = x.shape[0], step = x.strides[0];
  std::vector<T> ends(edges.shape[0]);
  cast_function(edges.dtype, dtype)(edges.data, edges.strides[0],
                                    reinterpret_cast<char*>(ends.data()), sizeof(T),
                                    edges.shape[0]);
  const Bins<T> bins(std::move(ends));
  const CastFn cast = cast_function(x.dtype, dtype);
  std::vector<int64_t> counts(bins.count() + 1);
  if (!is_divisible(args.helpers, args.work)) {
    count_some(bins, cast, x.data, step, n, counts.data());
  } else {
    std::mutex mutex;  // guards the counts
    const int64_t steps = steps_in_piece(n, args.work, kTogether);
    args.helpers->parallel_for((n + steps - 1) / steps, [&](int64_t i) {
      std::vector<int64_t> some(counts.size());
      const int64_t length = std::min(steps, n - i * steps);
      count_some(bins, cast, x.data + i * steps * step, step, length, some.data());
      std::lock_guard<std::mutex> lock(mutex);
      for (size_t k = 0; k < some.size(); ++k) counts[k] += some[k];
    });
  }
  for (size_t k = 0; k < counts.size(); ++k) {
    const int64_t place = static_cast<int64_t>(k) * out.strides[0];
    std::memcpy(out.data + place, &counts[k], sizeof(int64_t));
  }
}

}  // namespace

void histogram_kernel(const ArrayArgs& args) {
  const DType x = args.input(0).dtype, edges = args.input(1).dtype;
  const int64_t bins = args.input(1).shape[0] - 1;
  if (bins < 1) {
    const int64_t outside = args.input(0).shape[0];
    if (bins == 0) std::memcpy(args.output(0).data, &outside, sizeof(outside));
    return;
  }
  if (info(x).kind == DTypeKind::complex || (edges != DType::f64 && edges != x)) {
    fail(ErrorKind::type, "[histogram] expected edges of float64 or of the elements' dtype, got ",
         name_of(edges), " for ", name_of(x));
  }
  // float64 has all numbers of the other dtypes.
  if (edges == DType::i64) return count_all<int64_t>(args, edges);
  if (edges == DType::u64) return count_all<uint64_t>(args, edges);
  count_all<double>(args, DType::f64);
}

}  // namespace ofl::ops
