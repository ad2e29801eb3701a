#include "tensor/fusion/cuda.h"

#include "ep/memory/caching_allocator.h"

namespace ofl {

bool CudaFusion::launch(vm::LaunchContext& context) {
  find_bases();
  const ops::cuda::FusionPlan plan(std::move(group_), bases_.data());
  void* const kernel = plan.find_kernel(context.queue.device());
  if (!kernel) return false;
  try {
    allocate(plan.memories(), context.queue);
    ops::cuda::Launching launching(context.queue, context.slot.header.name);
    if (plan.launch(launching, kernel, bases_.data())) return true;
  } catch (const ep::CapacityError&) {
    // One by one the kernels wait for what others give back.
  }
  give_back(context.queue);
  return false;
}

void CudaFusion::allocate(const std::vector<Memory>& memories, ep::Stream& queue) {
  for (const Memory& memory : memories) {
    if (!needs_memory(memory)) continue;
    TensorStorage& storage = storages_[memory];
    storage.materialize_now(queue);
    allocated_.push_back(&storage);
    bases_[memory.base] = storage.data();
  }
}

/// The memory will be needed, but not before the instructions that may stand between the members.
void CudaFusion::give_back(ep::Stream& queue) {
  for (TensorStorage* storage : allocated_) storage->forget(queue);
}

}  // namespace ofl
