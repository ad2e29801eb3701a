#include "tensor/fusion/host.h"

#include "ep/memory/caching_allocator.h"
#include "tensor/fusion/worth.h"

namespace ofl {

bool HostFusion::launch(vm::LaunchContext& context) {
  if (!find_memories()) return false;
  const ops::FusionPlan plan(std::move(group_));
  plan.run(bases_.data(), context.queue.device().helpers(), &failed_);
  return true;
}

/// Small operands should stay in the cache until they are used. Kernels without a common operand
/// take the cache from each other.
bool HostFusion::is_worth_joining(const ops::LoopArgs& args, const int16_t* bases,
                                  int known) const {
  if (is_large(args)) return true;
  const ops::Iteration& iteration = args.iteration;
  for (int k = 0; k < iteration.operands; ++k) {
    if (bases[k] < 0 || bases[k] >= known) continue;
    bool is_whole = true;
    for (int d = 0; d < iteration.ndim; ++d) is_whole &= iteration.rows[d].strides[k] != 0;
    if (is_whole) return true;
  }
  return false;
}

bool HostFusion::find_memories() {
  find_bases();
  for (const Memory& memory : group_.memories()) {
    if (!needs_memory(memory) || take_over(memory) || allocate(memory)) continue;
    give_back();
    return false;  // one by one they wait for what others give back
  }
  return true;
}

/// Gives it the memory of something that ends with this group.
bool HostFusion::take_over(const Memory& memory) {
  for (const Memory& other : group_.memories()) {
    char* const base = bases_[other.base];
    if (!base || !memory.may_follow(other) || !storages_.is_held_by_group(other)) continue;
    if (!storages_[memory].materialize_with(storages_[other])) continue;
    bases_[memory.base] = base;
    taken_over_.push_back({&storages_[memory], &storages_[other]});
    return true;
  }
  return false;
}

/// As if nothing had happened: the memory will be needed, but not before the instructions that may
/// stand between the members.
void HostFusion::give_back() {
  for (TensorStorage* storage : allocated_) storage->forget_on_host();
  for (const auto& [storage, former] : taken_over_) former->materialize_with(*storage);
  savings_ = {};
}

bool HostFusion::allocate(const Memory& memory) {
  TensorStorage& storage = storages_[memory];
  try {
    storage.materialize_on_host();
  } catch (const ep::CapacityError&) {
    return false;
  }
  bases_[memory.base] = storage.data();
  allocated_.push_back(&storage);
  return true;
}

}  // namespace ofl
