// FusedKernels: kernels of a host stream that run as one (ops/fusion/fusion.h). What only they
// would see is never written to memory.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "ops/fusion/fusion.h"
#include "tensor/storage.h"
#include "vm/group.h"

namespace ofl {

/// Of a memory that kernels of a group share.
TensorStorage& storage_of(const ops::FusionSpace::Memory& memory);
/// Nobody but the group's members sees it, before or after: it need not be in memory.
bool lives_in_group(const ops::FusionSpace::Memory& memory);

/// Whether the operations on so many elements, the widest of so many bytes, are better run as one
/// where they follow each other.
bool fusion_pays(const vm::VirtualMachine& machine, int64_t elements, size_t item);
bool fusion_pays(const vm::VirtualMachine& machine, const ops::KernelArgs& args);

class FusedKernels final : public vm::Group {
 public:
  /// A group that begins with this kernel, or null where it runs by itself.
  static std::unique_ptr<vm::Group> begin(vm::Slot* slot);

  bool add(vm::Slot* slot) override;
  bool full() const override { return group_.full(); }
  bool launch(vm::LaunchContext& context) override;
  int failed() const override { return group_.failed(); }
  Savings savings() const override { return savings_; }

 private:
  bool find_memories();
  bool take_over(ops::FusionGroup::Memory& memory);
  bool allocate(ops::FusionGroup::Memory& memory);
  void give_back();

  ops::FusionGroup group_;
  Savings savings_;
  std::vector<TensorStorage*> allocated_;
  std::vector<std::pair<TensorStorage*, TensorStorage*>>
      taken_over_;  // who has the memory, who had
};

}  // namespace ofl
