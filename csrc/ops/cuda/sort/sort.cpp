// sort and argsort on a device: the arguments of the kernels of
// oneflow_lite/cuda/kernels/sort/sort.cuh.
#include <algorithm>

#include "ops/cuda/sort/sort.h"

namespace ofl::ops::cuda {

namespace {

using layout::kDigits;
using layout::kLaneTile;
using layout::kSortThreads;

using layout::kNarrow;

int64_t tile_of(DType dtype) {
  return kSortThreads * layout::sort_items(static_cast<int>(size_of(dtype)));
}

/// The smallest power of two that is not below n.
int64_t padded_length(int64_t n) {
  int64_t padded = 1;
  while (padded < n) padded *= 2;
  return padded;
}

/// A view whose last axis is `axis`.
ArrayView with_axis_last(const ArrayView& view, int axis) {
  ArrayView moved{view.data, view.dtype, {}, {}};
  for (int d = 0; d < view.shape.size(); ++d) {
    if (d == axis) continue;
    moved.shape.push_back(view.shape[d]);
    moved.strides.push_back(view.strides[d]);
  }
  moved.shape.push_back(view.shape[axis]);
  moved.strides.push_back(view.strides[axis]);
  return moved;
}

bool is_row_major(const ArrayView& view) {
  return is_contiguous(view.shape, view.strides, static_cast<int64_t>(size_of(view.dtype)));
}

bool sort_along(Launching& launching, const ArrayArgs& args, bool positions) {
  const auto axis = static_cast<int>(args.attr[0]);
  ArrayView in = with_axis_last(args.input(0), axis), out = with_axis_last(args.output(0), axis);
  if (element_count(in.shape) == 0) return true;
  const bool in_place = is_row_major(out);
  if (!in_place && !can_copy(out)) return false;
  const ArrayView target = in_place ? out : scratch_array(launching, out.dtype, out.shape);
  const ArrayView given = in;
  if (!is_row_major(given)) in = scratch_array(launching, in.dtype, in.shape);
  Sorter sorter(launching, {in, target, positions, args.attr[1] != 0});
  if (!sorter) return false;
  if (in.data != given.data && !copy_array(launching, given, in)) return false;
  sorter.enqueue();
  if (!in_place && !copy_array(launching, target, out)) {
    fail(ErrorKind::runtime, "[", launching.name(), "] the device's copy is missing");
  }
  return true;
}

}  // namespace

Sorter::Sorter(Launching& launching, const SortedLanes& lanes)
    : launching_(launching),
      sorted_(lanes),
      is_short_(lanes.in.shape.back() <= kLaneTile),
      wide_(lanes.in.shape.back() >= kNarrow),
      passes_(lanes.digits ? lanes.digits : static_cast<int>(size_of(lanes.in.dtype))) {
  const DType dtype = sorted_.in.dtype;
  args_.in = sorted_.in.data;
  args_.length = sorted_.in.shape.back();
  args_.lanes = element_count(sorted_.in.shape) / args_.length;
  args_.descending = sorted_.descending;
  if (is_short_) {
    args_.padded = static_cast<int32_t>(padded_length(args_.length));
    sort_ = array_program(launching, "sort", "lanes", sizeof(args_), dtype);
    return;
  }
  sort_ = array_program(launching, "sort", sorted_.positions ? "places" : "elements", sizeof(args_),
                        dtype, wide_);
  counts_ = array_program(launching, "sort", "counts", sizeof(args_), dtype, wide_);
  scan_ = array_program(launching, "sort", "scan", sizeof(args_), DType::u8, wide_);
  divide_lanes();
  if (*this) find_memory();
}

void Sorter::divide_lanes() {
  constexpr int64_t kCountsOfThread = 4;
  const int64_t tile = tile_of(sorted_.in.dtype), tiles = divide_up(args_.length, tile);
  const int64_t wanted = std::clamp<int64_t>(busy_blocks(launching_) / args_.lanes, 1, tiles);
  args_.chunk = divide_up(tiles, wanted) * tile;
  args_.chunks = divide_up(args_.length, args_.chunk);
  args_.row_threads = static_cast<int32_t>(
      padded_length(std::min<int64_t>(args_.chunks / kCountsOfThread, kDigits)));
}

// Elements go to two memories in turn; where they are wanted, the second is the result. Positions
// do, too: the first pass knows them, the last one writes them and leaves the elements.
void Sorter::find_memory() {
  const int64_t n = args_.lanes * args_.length, rows = args_.lanes * kDigits;
  const int64_t size = size_of(sorted_.in.dtype), place_size = wide_ ? 8 : 4;
  args_.counts = launching_.scratch(rows * args_.chunks * place_size);
  args_.totals = launching_.scratch(rows * place_size);
  for (int k = 0; k < std::min(passes_ - 1, 2); ++k) {
    const bool is_result = k == 1 && !sorted_.positions;
    elements_[k] = is_result ? sorted_.out.data : launching_.scratch(n * size);
    if (sorted_.positions) places_[k] = launching_.scratch(n * place_size);
  }
}

void Sorter::enqueue() {
  if (!is_short_) return enqueue_passes();
  if (sorted_.positions) {
    args_.order = int64_data(sorted_.out);
  } else {
    args_.out = sorted_.out.data;
  }
  const int64_t blocks = divide_up(args_.lanes, kLaneTile / args_.padded);
  launching_.run_blocks(sort_, blocks, kSortThreads, 0, args_);
}

void Sorter::enqueue_passes() {
  layout::SortArgs args = args_;
  for (; args.digit < passes_; ++args.digit) {
    const int left = passes_ - 1 - args.digit, turn = (left + 1) % 2;
    if (left > 0) {
      args.out = elements_[turn];
      args.places_out = places_[turn];
    } else {
      args.out = sorted_.positions ? nullptr : sorted_.out.data;
      args.places_out = nullptr;
      args.order = sorted_.positions ? int64_data(sorted_.out) : nullptr;
    }
    launching_.run_blocks(counts_, args.lanes * args.chunks, kSortThreads, 0, args);
    launching_.run_blocks(scan_, args.lanes * args.row_threads, kSortThreads, 0, args);
    launching_.run_blocks(sort_, args.lanes * args.chunks, kSortThreads, 0, args);
    args.in = args.out;
    args.places_in = args.places_out;
  }
}

bool launch_sort(Launching& launching, const ArrayArgs& args) {
  return sort_along(launching, args, false);
}

bool launch_argsort(Launching& launching, const ArrayArgs& args) {
  return sort_along(launching, args, true);
}

}  // namespace ofl::ops::cuda
