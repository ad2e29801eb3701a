// What both kinds of fusion share: how an instruction joins a group, and which of the group's
// memories nobody else sees.
#pragma once

#include <vector>

#include "ops/fusion/space.h"
#include "tensor/body.h"
#include "vm/fusion/group.h"

namespace ofl {

/// The storage of a memory that kernels of a group share.
TensorStorage& storage_of(const ops::FusionSpace::Memory& memory);
/// Only members of the group hold it: no handle, no view, no other instruction. Then nobody else
/// can come to hold it, either.
bool is_held_by_group(const ops::FusionSpace::Memory& memory);
/// Only the group's members see it, before or after: it need not be in memory.
bool lives_in_group(const ops::FusionSpace::Memory& memory);

/// Instructions that run as one; `Kernels` holds their kernels and is a FusionSpace.
template <typename Kernels>
class Fusion : public vm::Group {
 public:
  bool add(vm::Slot* slot) final {
    if (slot->header.type != &kLoopType) return false;
    const auto& body = *reinterpret_cast<const LoopBody*>(slot->body);
    void* memories[ops::kMaxOperands] = {};
    for (int k = 0; k < body.held.size(); ++k) memories[k] = body.held[k];
    return group_.add(body.call.args, memories);
  }
  bool full() const final { return group_.full(); }
  Savings savings() const final { return savings_; }

 protected:
  void note_saved(const TensorStorage& storage) {
    ++savings_.results;
    savings_.bytes += static_cast<int64_t>(storage.bytes());
  }

  Kernels group_;
  Savings savings_;
  std::vector<TensorStorage*> allocated_;
};

}  // namespace ofl
