#include "tensor/fusion/device.h"

#include "ep/memory/caching_allocator.h"
#include "tensor/fusion/host.h"
#include "tensor/submit.h"

namespace ofl {

namespace {

/// Less than this a device computes in the time of a launch: other groups, other kernels, to be
/// compiled, for nothing.
constexpr double kLeastCost = 4096;

}  // namespace

std::unique_ptr<vm::Group> begin_group(vm::Slot* slot) {
  const ep::Device& device = slot->header.stream->device();
  if (device.is_host()) return FusedKernels::begin(slot);
  return device.runs_host_kernels() ? nullptr : FusedDeviceKernels::begin(slot);
}

std::unique_ptr<vm::Group> FusedDeviceKernels::begin(vm::Slot* slot) {
  if (slot->header.cost < kLeastCost) return nullptr;
  auto group = std::make_unique<FusedDeviceKernels>();
  return group->add(slot) ? std::move(group) : nullptr;
}

bool FusedDeviceKernels::add(vm::Slot* slot) {
  if (slot->header.type != &kKernelType) return false;
  const auto& body = *reinterpret_cast<const KernelBody*>(slot->body);
  void* memories[ops::kMaxOperands] = {};
  for (int k = 0; k < body.held.size(); ++k) memories[k] = body.held[k];
  return group_.add(body.call.args, memories);
}

bool FusedDeviceKernels::launch(vm::LaunchContext& context) {
  find_unseen();
  void* const kernel = group_.find_kernel(context.queue.device());
  if (!kernel) return false;
  try {
    find_memories(context.queue);
    ops::cuda::Launching launching(context.queue, context.slot.header.name);
    if (group_.launch(launching, kernel)) return true;
  } catch (const ep::CapacityError&) {
    // One by one the kernels wait for what others give back.
  }
  give_back(context.queue);
  return false;
}

void FusedDeviceKernels::find_unseen() {
  for (ops::FusionSpace::Memory& memory : group_.memories()) {
    const TensorStorage& storage = storage_of(memory);
    memory.address = storage.data();
    memory.unseen = !memory.address && lives_in_group(memory);
    if (!memory.unseen) continue;
    ++savings_.results;
    savings_.bytes += static_cast<int64_t>(storage.bytes());
  }
}

void FusedDeviceKernels::find_memories(ep::Stream& queue) {
  for (ops::FusionSpace::Memory& memory : group_.memories()) {
    if (memory.unseen || memory.address) continue;
    TensorStorage& storage = storage_of(memory);
    storage.materialize_now(queue);
    allocated_.push_back(&storage);
    memory.address = storage.data();
  }
}

/// What is allocated will be needed, but not before what may stand between the members.
void FusedDeviceKernels::give_back(ep::Stream& queue) {
  for (TensorStorage* storage : allocated_) storage->forget(queue);
}

}  // namespace ofl
