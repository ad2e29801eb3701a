#include "ops/fusion/plan.h"

#include <algorithm>
#include <tuple>

namespace ofl::ops {

namespace {

size_t aligned(int64_t bytes) { return static_cast<size_t>((bytes + 63) & ~int64_t{63}); }

}  // namespace

FusionPlan::FusionPlan(FusionGroup group) : group_(std::move(group)) {
  for (FusionGroup::Member& kernel : group_.kernels_) {
    std::tie(kernel.cut, kernel.inner) = FusionGroup::row_of(kernel, group_.tiling_.unit);
    kernel.is_call = kernel.args->kernel == KernelId::elementwise && kernel.scale == 1 &&
                     kernel.inner == 1 && is_one_call(*kernel.args);
  }
  assign_buffers();
  place_repeated();
}

/// A memory that is unseen gets the first buffer that no other one needs at the same time. That may
/// be one of an operand of the kernel that writes it, so that less of the cache is used.
void FusionPlan::assign_buffers() {
  using Memory = FusionSpace::Memory;
  std::vector<const Memory*> in_buffers;  // the last one in each
  int64_t item_size = 1;
  for (Memory& memory : group_.memories_) {  // by first use
    if (!memory.unseen) continue;
    item_size = std::max(item_size, memory.item_size);
    const auto is_free = [&](const Memory* other) {
      return other->last < memory.first || memory.may_follow_in_tiles(*other);
    };
    const auto found = std::find_if(in_buffers.begin(), in_buffers.end(), is_free);
    memory.buffer = static_cast<int>(found - in_buffers.begin());
    if (found == in_buffers.end()) {
      in_buffers.push_back(&memory);
    } else {
      *found = &memory;
    }
  }
  buffers_ = static_cast<int>(in_buffers.size());
  buffer_size_ = aligned(longest_tile() * item_size);
}

/// No kernel of the group writes these inputs. FusionSpace::is_in_order() lets an input overlap an
/// output only where both have the same place, and outputs do not repeat.
void FusionPlan::place_repeated() {
  for (int i = 0; i < group_.size(); ++i) {
    FusionGroup::Member& kernel = group_.kernels_[i];
    for (int k = 0; k < kernel.args->iteration.operands; ++k) {
      if (!kernel.whole.repeated[k]) continue;
      kernel.whole.laid_out = true;
      repeated_.push_back({i, k, repeated_bytes_});
      repeated_bytes_ += aligned(repeated_bytes(*kernel.args, k));
    }
    const Buffering& buffering = kernel.whole.buffering;
    kernel.is_call_beside_repeated =
        kernel.whole.laid_out && kernel.scale == 1 && kernel.cut == kernel.whole.end - 1 &&
        kernel.inner == buffering.core &&
        is_one_call(*kernel.args, kernel.whole, longest_tile(), kernel.steps);
  }
}

int64_t FusionPlan::longest_tile() const {
  const TiledReduction* reduction = group_.sum();
  return reduction ? reduction->sum()->longest() : group_.tiling_.size;
}

int64_t FusionPlan::tile_count() const {
  if (const TiledReduction* reduction = group_.sum()) return reduction->sum()->leaves();
  return group_.elements_ / group_.tiling_.run * group_.tiling_.per_run;
}

}  // namespace ofl::ops
