#include "ops/fusion/fusion.h"

#include <algorithm>
#include <numeric>

namespace ofl::ops {

namespace {

/// Bytes of one operand in a tile: those of a few of them stay in the L1 cache, and a loop call
/// costs little beside its work. A reduction's call costs more, and it reads its input once: tiles
/// from the L2 cache take less time than four times as many calls.
constexpr int64_t kTileBytes = 8192, kReducedTileBytes = 32768;
constexpr int64_t kMostTileBytes = 1 << 17;  // where rows are long
constexpr int64_t kUint32Vector = 4;         // see cast.cpp: where a cast to uint32 may be cut

bool may_cast_to_uint32(const LoopArgs& args) {
  bool found = args.kernel == KernelId::elementwise && args.resolution->out == DType::u32;
  for (int k = 0; k < args.iteration.operands; ++k) {
    found = found || args.dtype[k] == DType::u32;
    if (args.kernel == KernelId::elementwise && k < args.op->nin) {
      found = found || args.resolution->in[k] == DType::u32;
    }
  }
  return found;
}

int64_t largest_item(const LoopArgs& args) {
  size_t largest = 1;
  for (int k = 0; k < args.iteration.operands; ++k) {
    largest = std::max(largest, size_of(args.dtype[k]));
  }
  return static_cast<int64_t>(largest);
}

}  // namespace

/// A kernel that may become the next one, with what the group would know then.
struct FusionGroup::Draft {
  Member kernel;
  Newcomer newcomer;
  std::vector<int64_t> bounds;
  int64_t elements, row, multiple, alignment, item_size;
  Tiling tiling;
};

bool FusionGroup::add(const LoopArgs& args, const int16_t* bases) {
  if (full() || may_fail(args)) return false;
  Draft draft;
  draft.kernel.args = &args;
  draft.bounds = bounds_;
  draft.row = row_;
  draft.multiple = multiple_;
  draft.item_size = std::max(item_size_, largest_item(args));
  draft.alignment = std::max(alignment_, may_cast_to_uint32(args) ? kUint32Vector : 1);
  if (!scale_elements(args, &draft)) return false;
  draft.newcomer.args = &args;
  draft.newcomer.scale = draft.kernel.scale;
  place_operands(bases, &draft.newcomer);
  std::copy_n(draft.newcomer.memory, kMaxOperands, draft.kernel.memory);
  if (!is_in_order(draft.newcomer)) return false;
  if (const auto pieces = args.form().pieces) {
    draft.kernel.whole = pieces(args);
    const int64_t alignment = draft.kernel.whole.alignment;
    if (draft.kernel.whole.rigid || draft.kernel.whole.alone) return false;
    if (alignment > 1 && draft.kernel.scale > 1) return false;
    draft.alignment = std::max(draft.alignment, alignment);
    add_bounds(args.iteration, draft.kernel.scale, &draft.bounds);
  } else if (!make_reduction(&draft)) {
    return false;
  }
  if (!make_chain(&draft.bounds) || !choose_tiling(draft, &draft.tiling)) return false;
  take(std::move(draft), bases);
  return true;
}

/// Whether it has the group's elements, or one for each row that is reduced.
bool FusionGroup::scale_elements(const LoopArgs& args, Draft* draft) const {
  const int64_t elements = iteration_size(args.iteration);
  draft->elements = size() > 0 ? elements_ : elements;
  if (elements == 0 || elements > kMostElements) return false;
  if (elements == draft->elements) return true;
  // A cast to uint32 may not be cut anywhere, and rows have any length.
  if (row_ == 0 || elements * row_ != elements_ || may_cast_to_uint32(args)) return false;
  draft->kernel.scale = row_;
  return args.form().pieces != nullptr;
}

/// Rows of one length, wherever they are; or one sum of something that the group has written.
bool FusionGroup::make_reduction(Draft* draft) const {
  const LoopArgs& args = *draft->kernel.args;
  if (args.kernel != KernelId::reduce) return false;
  auto reduction = TiledReduction::make(args, kReducedTileBytes / draft->item_size);
  if (!reduction) return false;
  if (reduction->sum()) {
    const int input = draft->kernel.memory[kReduceIn];
    const auto writes_input = [&](const Place& place) {
      return place.memory == input && place.written;
    };
    if (row_ || draft->bounds.size() != 2) return false;  // all the others are one row
    if (std::none_of(places_.begin(), places_.end(), writes_input)) return false;
    const DividedSum& sum = *reduction->sum();
    for (int leaf = 0; leaf < sum.leaves(); ++leaf) {
      if (sum.start(leaf) % draft->alignment != 0) return false;
    }
  } else {
    if (row_ && row_ != reduction->step()) return false;
    draft->row = reduction->step();
    draft->multiple = std::lcm(multiple_, reduction->unit());
    draft->bounds.insert(draft->bounds.end(), {1, reduction->step(), draft->elements});
  }
  draft->kernel.reduction = std::move(reduction);
  return true;
}

/// Elements in a tile, where rows do not ask for others.
int64_t FusionGroup::wanted_tile(const Draft& draft) {
  return (draft.row ? kReducedTileBytes : kTileBytes) / draft.item_size;
}

/// Steps of `unit` elements in a tile, of the `run` steps of a run; 0: there is no such number. All
/// tiles, and so all runs, start at multiples of so many elements.
int64_t FusionGroup::steps_of_tile(const Draft& draft, int64_t multiple, int64_t unit,
                                   int64_t run) {
  const int64_t steps = std::max<int64_t>(1, wanted_tile(draft) / unit);
  const int64_t most = std::max(steps, kMostTileBytes / draft.item_size / unit);
  const bool one_run = unit * run == draft.bounds.back();
  if (!one_run && unit * run % multiple != 0) return 0;
  const int64_t least = multiple / std::gcd(unit, multiple);
  const int64_t rounded = std::max(least, steps - steps % least);
  if (rounded <= run && rounded <= most) return rounded;
  return run <= most ? run : 0;
}

/// Tiles as near to the wanted size as the rows of the kernels allow: few times as large rather
/// than many times smaller.
bool FusionGroup::choose_tiling(const Draft& draft, Tiling* tiling) const {
  const auto wanted = static_cast<double>(wanted_tile(draft));
  const auto distance = [wanted](int64_t size) {
    const double times = static_cast<double>(size) / wanted;
    return std::max(times, 1 / times);
  };
  const int64_t must = std::lcm(draft.multiple, draft.alignment);
  for (size_t i = 0; i + 1 < draft.bounds.size(); ++i) {
    const int64_t unit = draft.bounds[i], run = draft.bounds[i + 1] / unit;
    const auto can_cut = [&](const Member& kernel) {
      return kernel.reduction || row_of(kernel, unit).first < kernel.whole.end;
    };
    if (draft.row && unit % draft.row != 0) continue;
    if (!std::all_of(kernels_.begin(), kernels_.end(), can_cut) || !can_cut(draft.kernel)) continue;
    for (const int64_t multiple : {std::lcm(must, kVectors), must}) {
      const int64_t steps = steps_of_tile(draft, multiple, unit, run), size = steps * unit;
      if (steps == 0 || size * draft.item_size > kMostTileBytes) continue;
      if (tiling->size > 0 && distance(size) >= distance(tiling->size)) continue;
      *tiling = {unit, size, unit * run, (run + steps - 1) / steps};
    }
  }
  return tiling->size > 0;
}

/// The row of a kernel that tiles of steps of `unit` elements cut, and the elements in its steps.
std::pair<int, int64_t> FusionGroup::row_of(const Member& kernel, int64_t unit) {
  const Iteration& iteration = kernel.args->iteration;
  const int64_t own = unit / kernel.scale;
  int64_t inner = 1;
  int d = iteration.ndim - 1;
  for (; d > 0 && inner * iteration.rows[d].dim <= own; --d) inner *= iteration.rows[d].dim;
  return {d, inner};
}

void FusionGroup::take(Draft&& draft, const int16_t* bases) {
  elements_ = draft.elements;
  row_ = draft.row;
  multiple_ = draft.multiple;
  item_size_ = draft.item_size;
  alignment_ = draft.alignment;
  bounds_ = std::move(draft.bounds);
  tiling_ = draft.tiling;
  const bool reduces = draft.kernel.reduction != nullptr;
  add_uses(draft.newcomer, bases, size(), reduces, reduces && draft.kernel.reduction->sum());
  kernels_.push_back(std::move(draft.kernel));
}

}  // namespace ofl::ops
