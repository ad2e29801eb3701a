#include "tensor/fusion/host.h"

#include "ep/memory/caching_allocator.h"

namespace ofl {

bool HostFusion::launch(vm::LaunchContext& context) {
  if (!find_memories()) return false;
  group_.run(context.queue.device().helpers());
  return true;
}

bool HostFusion::find_memories() {
  for (ops::FusionGroup::Memory& memory : group_.memories()) {
    TensorStorage& storage = storage_of(memory);
    if (!storage.data() && lives_in_group(memory)) {
      note_saved(storage);
      continue;
    }
    memory.address = storage.data();
  }
  for (ops::FusionGroup::Memory& memory : group_.memories()) {
    if (memory.address || lives_in_group(memory)) continue;
    if (!take_over(memory) && !allocate(memory)) {
      give_back();
      return false;  // one by one they wait for what others give back
    }
  }
  return true;
}

/// Gives it the memory of something that ends with this group.
bool HostFusion::take_over(ops::FusionGroup::Memory& memory) {
  for (const ops::FusionGroup::Memory& other : group_.memories()) {
    if (!other.address || !memory.may_follow(other) || !is_held_by_group(other)) continue;
    if (!storage_of(memory).materialize_with(storage_of(other))) continue;
    memory.address = other.address;
    taken_over_.push_back({&storage_of(memory), &storage_of(other)});
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

bool HostFusion::allocate(ops::FusionGroup::Memory& memory) {
  try {
    storage_of(memory).materialize_on_host();
  } catch (const ep::CapacityError&) {
    return false;
  }
  memory.address = storage_of(memory).data();
  allocated_.push_back(&storage_of(memory));
  return true;
}

}  // namespace ofl
