// Binary search in sorted elements, a thread for each of the needles.
#include "ops/cuda/layout/search.h"

namespace ofl {

template <typename T>
void reorder(const ReorderArgs& args) {
  const int64 step = int64(gridDim.x) * blockDim.x;
  for (int64 i = int64(blockIdx.x) * blockDim.x + threadIdx.x; i < args.count; i += step) {
    const int64 at = *reinterpret_cast<const int64*>(args.order + i * args.order_step);
    if (at < 0 || at >= args.length) {
      *args.fault = at;
      continue;
    }
    reinterpret_cast<Stored<T>*>(args.out)[i] =
        *reinterpret_cast<const Stored<T>*>(args.in + at * args.in_step);
  }
}

/// How many of the elements come before the needle, those equal to it included if `right`.
template <bool right, typename T>
int64 count_before(const SearchArgs& args, T needle) {
  const auto key = key_of(needle);
  int64 low = 0, rest = args.length;
  while (rest > 0) {
    const int64 half = rest / 2;
    const auto middle = key_of(element_at<T>(args.sorted, args.sorted_step, low + half));
    const bool is_before = right ? !(key < middle) : middle < key;
    low = is_before ? low + half + 1 : low;
    rest = is_before ? rest - half - 1 : half;
  }
  return low;
}

template <typename T>
void search_sorted(const SearchArgs& args) {
  const int64 step = int64(gridDim.x) * blockDim.x;
  for (int64 i = int64(blockIdx.x) * blockDim.x + threadIdx.x; i < args.count; i += step) {
    const T needle = element_at<T>(args.needles, args.needle_step, i);
    *reinterpret_cast<int64*>(args.out + i * args.out_step) =
        args.option ? count_before<true>(args, needle) : count_before<false>(args, needle);
  }
}

template <typename T>
void contains(const SearchArgs& args) {
  const int64 step = int64(gridDim.x) * blockDim.x;
  for (int64 i = int64(blockIdx.x) * blockDim.x + threadIdx.x; i < args.count; i += step) {
    const T needle = element_at<T>(args.needles, args.needle_step, i);
    const int64 at = count_before<false>(args, needle);
    const bool found =
        at < args.length && same_value(element_at<T>(args.sorted, args.sorted_step, at), needle);
    args.out[i * args.out_step] = char(found != bool(args.option));
  }
}

}  // namespace ofl
