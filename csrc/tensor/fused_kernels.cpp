#include "tensor/fused_kernels.h"

#include "ep/caching_allocator.h"
#include "tensor/submit.h"

namespace ofl {

namespace {

/// Less than this, some 1 us, is not worth the search for others.
constexpr double kLeastCost = 3000;

}  // namespace

std::unique_ptr<vm::Group> FusedKernels::begin(vm::Slot* slot) {
  if (slot->header.cost < kLeastCost || !slot->header.stream->device().is_host()) return nullptr;
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

// Nobody else holds a storage whose references are those of the group: no handle, no view, no other
// instruction; and only who has one could make another.
bool FusedKernels::find_memories() {
  for (ops::FusionGroup::Memory& memory : group_.memories()) {
    auto* storage = static_cast<TensorStorage*>(memory.id);
    if (!storage->data()) {
      if (memory.internal && storage->references() == memory.uses) {
        ++savings_.results;
        savings_.bytes += static_cast<int64_t>(storage->bytes());
        continue;
      }
      try {
        storage->materialize_on_host();
      } catch (const ep::CapacityError&) {
        savings_ = {};
        return false;  // one by one they wait for what others give back
      }
    }
    memory.address = storage->data();
  }
  return true;
}

}  // namespace ofl
