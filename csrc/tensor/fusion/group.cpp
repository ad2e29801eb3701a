#include "tensor/fusion/group.h"

namespace ofl {

TensorStorage& storage_of(const ops::FusionSpace::Memory& memory) {
  return *static_cast<TensorStorage*>(memory.id);
}

bool is_held_by_group(const ops::FusionSpace::Memory& memory) {
  return storage_of(memory).references() == memory.uses;
}

/// A memory that no device could hold is not among them: it is an error, fused or not.
bool lives_in_group(const ops::FusionSpace::Memory& memory) {
  if (!memory.internal() || !is_held_by_group(memory)) return false;
  const TensorStorage& storage = storage_of(memory);
  return storage.bytes() <= storage.state().device.memory_info().capacity;
}

}  // namespace ofl
