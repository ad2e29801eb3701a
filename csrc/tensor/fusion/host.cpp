#include "tensor/fusion/host.h"

#include <unistd.h>

#include <algorithm>

#include "ep/memory/caching_allocator.h"
#include "tensor/submit.h"

namespace ofl {

namespace {

/// Less than this, about 1 us, is not worth the search for others.
constexpr double kLeastCost = 3000;

/// Of one operand. Results of fewer bytes stay in a core's second-level cache until they are used:
/// the calls of a tile then cost as much as is saved.
int64_t least_bytes() {
  constexpr int64_t kUsual = 1 << 20;
#if defined(_SC_LEVEL2_CACHE_SIZE)
  static const int64_t known = sysconf(_SC_LEVEL2_CACHE_SIZE);
#else
  static const int64_t known = 0;
#endif
  return (known > 0 ? known : kUsual) / 2;
}

bool pays(const vm::Slot& slot) {
  return slot.header.cost >= kLeastCost &&
         fusion_pays(slot.header.stream->machine(),
                     reinterpret_cast<const KernelBody*>(slot.body)->call.args);
}

}  // namespace

bool fusion_pays(const vm::VirtualMachine& machine, int64_t elements, size_t item) {
  const vm::Fusion fusion = machine.options().fusion.load(std::memory_order_relaxed);
  if (fusion != vm::Fusion::where_it_pays) return fusion == vm::Fusion::always;
  return elements * static_cast<int64_t>(item) >= least_bytes();
}

bool fusion_pays(const vm::VirtualMachine& machine, const ops::KernelArgs& args) {
  size_t item = 1;
  for (int k = 0; k < args.iteration.operands; ++k) item = std::max(item, size_of(args.dtype[k]));
  return fusion_pays(machine, ops::iteration_size(args.iteration), item);
}

TensorStorage& storage_of(const ops::FusionSpace::Memory& memory) {
  return *static_cast<TensorStorage*>(memory.id);
}

namespace {

/// Nobody else holds it: no handle, no view, no other instruction; and only who has one could make
/// another.
bool is_ours(const ops::FusionSpace::Memory& memory) {
  return storage_of(memory).references() == memory.uses;
}

}  // namespace

/// Not what no memory could hold: that is an error, fused or not.
bool lives_in_group(const ops::FusionSpace::Memory& memory) {
  if (!memory.internal() || !is_ours(memory)) return false;
  const TensorStorage& storage = storage_of(memory);
  return storage.bytes() <= storage.state().device.memory_info().capacity;
}

std::unique_ptr<vm::Group> FusedKernels::begin(vm::Slot* slot) {
  if (!slot->header.stream->device().is_host() || !pays(*slot)) return nullptr;
  auto group = std::make_unique<FusedKernels>();
  return group->add(slot) ? std::move(group) : nullptr;
}

bool FusedKernels::add(vm::Slot* slot) {
  if (slot->header.type != &kKernelType) return false;
  const auto& body = *reinterpret_cast<const KernelBody*>(slot->body);
  void* memories[ops::kMaxOperands] = {};
  for (int k = 0; k < body.held.size(); ++k) memories[k] = body.held[k];
  return group_.add(body.call.args, memories);
}

bool FusedKernels::launch(vm::LaunchContext& context) {
  if (!find_memories()) return false;
  group_.run(context.queue.device().helpers());
  return true;
}

bool FusedKernels::find_memories() {
  for (ops::FusionGroup::Memory& memory : group_.memories()) {
    TensorStorage& storage = storage_of(memory);
    if (!storage.data() && lives_in_group(memory)) {
      ++savings_.results;
      savings_.bytes += static_cast<int64_t>(storage.bytes());
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
bool FusedKernels::take_over(ops::FusionGroup::Memory& memory) {
  for (const ops::FusionGroup::Memory& other : group_.memories()) {
    if (!other.address || !memory.may_follow(other) || !is_ours(other)) continue;
    if (!storage_of(memory).materialize_with(storage_of(other))) continue;
    memory.address = other.address;
    taken_over_.push_back({&storage_of(memory), &storage_of(other)});
    return true;
  }
  return false;
}

/// As if nothing had happened: what is allocated will be needed, but not before what may stand
/// between the members.
void FusedKernels::give_back() {
  for (TensorStorage* storage : allocated_) storage->forget_on_host();
  for (const auto& [storage, former] : taken_over_) former->materialize_with(*storage);
  savings_ = {};
}

bool FusedKernels::allocate(ops::FusionGroup::Memory& memory) {
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
