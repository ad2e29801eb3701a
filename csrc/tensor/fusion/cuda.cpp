#include "tensor/fusion/cuda.h"

#include "ep/memory/caching_allocator.h"

namespace ofl {

bool CudaFusion::launch(vm::LaunchContext& context) {
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

void CudaFusion::find_unseen() {
  for (ops::FusionSpace::Memory& memory : group_.memories()) {
    const TensorStorage& storage = storage_of(memory);
    memory.address = storage.data();
    memory.unseen = !memory.address && lives_in_group(memory);
    if (memory.unseen) note_saved(storage);
  }
}

void CudaFusion::find_memories(ep::Stream& queue) {
  for (ops::FusionSpace::Memory& memory : group_.memories()) {
    if (memory.unseen || memory.address) continue;
    TensorStorage& storage = storage_of(memory);
    storage.materialize_now(queue);
    allocated_.push_back(&storage);
    memory.address = storage.data();
  }
}

/// The memory will be needed, but not before the instructions that may stand between the members.
void CudaFusion::give_back(ep::Stream& queue) {
  for (TensorStorage* storage : allocated_) storage->forget(queue);
}

}  // namespace ofl
