#include "tensor/fusion/group.h"

#include <algorithm>

namespace ofl {

void GroupStorages::number(const HeldStorages& held, int16_t* bases) {
  for (int k = 0; k < held.size(); ++k) {
    bases[k] = -1;
    if (!held[k]) continue;
    const auto known = std::find(storages_.begin(), storages_.end(), held[k]);
    bases[k] = static_cast<int16_t>(known - storages_.begin());
    if (known == storages_.end()) storages_.push_back(held[k]);
  }
}

bool GroupStorages::is_held_by_group(const Memory& memory) const {
  return (*this)[memory].references() == memory.uses;
}

/// A memory that no device could hold is not among them: it is an error, fused or not.
bool GroupStorages::is_unseen(const Memory& memory) const {
  const TensorStorage& storage = (*this)[memory];
  return !storage.data() && is_held_by_group(memory) &&
         storage.bytes() <= storage.state().device.memory_info().capacity;
}

std::vector<char*> GroupStorages::bases() const {
  std::vector<char*> bases;
  bases.reserve(storages_.size());
  for (const TensorStorage* storage : storages_) bases.push_back(storage->data());
  return bases;
}

}  // namespace ofl
