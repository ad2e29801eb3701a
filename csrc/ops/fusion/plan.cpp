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
  }
  assign_buffers();
  place_repeated();
}

/// A memory that is unseen gets the first buffer that no other one needs at the same time.
void FusionPlan::assign_buffers() {
  std::vector<int> busy_until;  // by buffer: the last kernel that uses it
  int64_t item_size = 1;
  for (FusionSpace::Memory& memory : group_.memories_) {  // by first use
    if (!memory.unseen) continue;
    item_size = std::max(item_size, memory.item_size);
    size_t i = 0;
    while (i < busy_until.size() && busy_until[i] >= memory.first) ++i;
    if (i == busy_until.size()) busy_until.push_back(0);
    busy_until[i] = memory.last;
    memory.buffer = static_cast<int>(i);
  }
  buffers_ = static_cast<int>(busy_until.size());
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
