// Runs of equal elements in sorted arrays: what the set functions are made of. All arrays are
// one-dimensional.
#include <algorithm>
#include <mutex>
#include <vector>

#include "ops/pieces.h"
#include "ops/sort/order.h"
#include "ops/sort/value_counts.h"

namespace ofl::ops {

namespace {

int64_t position(const ArrayView& view, int64_t i) {
  return load_element<int64_t>(view.data + i * view.strides[0]);
}

/// Neighbours, all of which are equal if the last one equals the one before the first.
constexpr int64_t kTogether = 32;

/// Writes where the runs start, and how many there are. Each element of a block that has a start is
/// written, and kept only if it is one: there is little to mispredict.
template <typename T, bool EqualNan>
int64_t find_runs(const ArrayView& sorted, int64_t* starts) {
  const int64_t n = sorted.shape[0], step = sorted.strides[0];
  if (n == 0) return 0;
  int64_t count = 1;
  starts[0] = 0;
  const auto at = [&](int64_t i) { return load_element<T>(sorted.data + i * step); };
  for (int64_t i = 1; i < n;) {
    const int64_t end = std::min(i + kTogether, n);
    T last = at(i - 1);
    if (!are_distinct<T, EqualNan>(at(end - 1), last)) i = end;
    for (; i < end; ++i) {
      const T value = at(i);
      starts[count] = i;
      count += are_distinct<T, EqualNan>(value, last);
      last = value;
    }
  }
  return count;
}

}  // namespace

void run_starts_kernel(const ArrayArgs& args) {
  const ArrayView& sorted = args.input(0);
  auto* starts = reinterpret_cast<int64_t*>(args.output(0).data);
  int64_t count = 0;
  visit_dtype(sorted.dtype, [&](auto type) {
    using T = decltype(type);
    count = args.attr[0] != 0 ? find_runs<T, true>(sorted, starts)
                              : find_runs<T, false>(sorted, starts);
  });
  starts[count] = sorted.shape[0];
  std::memcpy(args.output(1).data, &count, sizeof(count));
}

void pick_kernel(const ArrayArgs& args) {
  const ArrayView &in = args.input(0), &index = args.input(1), &out = args.output(0);
  visit_dtype(in.dtype, [&](auto type) {
    constexpr size_t size = sizeof(type);
    for (int64_t i = 0; i < index.shape[0]; ++i) {
      const char* from = in.data + position(index, i) * in.strides[0];
      std::memcpy(out.data + i * out.strides[0], from, size);
    }
  });
}

void run_numbers_kernel(const ArrayArgs& args) {
  const ArrayView &starts = args.input(0), &order = args.input(1), &out = args.output(0);
  for (int64_t run = 0; run + 1 < starts.shape[0]; ++run) {
    for (int64_t i = position(starts, run); i < position(starts, run + 1); ++i) {
      std::memcpy(out.data + position(order, i) * out.strides[0], &run, sizeof(run));
    }
  }
}

namespace {

/// Of `n` values from the i-th on; false where one has no bin.
bool count_part(const ArrayView& x, int64_t i, int64_t n, int64_t bins, int64_t* counts) {
  const char* const from = x.data + i * x.strides[0];
  if (x.strides[0] == sizeof(int64_t)) {
    return add_counts(reinterpret_cast<const int64_t*>(from), n, bins, counts);
  }
  int64_t block[kTogether];
  bool is_right = true;
  for (int64_t start = 0; start < n; start += kTogether) {
    const int64_t some = std::min(kTogether, n - start);
    for (int64_t k = 0; k < some; ++k) block[k] = position(x, i + start + k);
    is_right = add_counts(block, some, bins, counts) && is_right;
  }
  return is_right;
}

bool count_all(const ArrayArgs& args, int64_t* counts) {
  const ArrayView& x = args.input(0);
  const int64_t n = x.shape[0], bins = args.output(0).shape[0];
  if (bins > kFewBins || !is_divisible(args.helpers, args.work)) {
    return count_part(x, 0, n, bins, counts);
  }
  std::mutex mutex;  // guards the rest
  bool is_right = true;
  const int64_t steps = std::max(steps_in_piece(n, args.work, 1), 16 * bins);
  args.helpers->parallel_for((n + steps - 1) / steps, [&](int64_t i) {
    std::vector<int64_t> some(bins);
    const bool has_bins =
        count_part(x, i * steps, std::min(steps, n - i * steps), bins, some.data());
    const std::lock_guard<std::mutex> lock(mutex);
    is_right = is_right && has_bins;
    for (int64_t bin = 0; bin < bins; ++bin) counts[bin] += some[bin];
  });
  return is_right;
}

}  // namespace

void bincount_kernel(const ArrayArgs& args) {
  const ArrayView &x = args.input(0), &out = args.output(0);
  std::memset(out.data, 0, out.shape[0] * size_of(out.dtype));
  const int64_t n = x.shape[0], bins = out.shape[0];
  bool is_right = true;
  if (args.inputs == 1) {
    is_right = count_all(args, reinterpret_cast<int64_t*>(out.data));
  } else {
    const ArrayView& weights = args.input(1);
    auto* sums = reinterpret_cast<double*>(out.data);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t bin = position(x, i);
      is_right = is_right && bin >= 0 && bin < bins;
      if (!is_right) break;
      sums[bin] += load_element<double>(weights.data + i * weights.strides[0]);
    }
  }
  if (is_right) return;
  fail(ErrorKind::runtime, "[", args.name, "] expected numbers below ", bins,
       ", got others: another thread wrote to the tensor");
}

}  // namespace ofl::ops
