// HostFusion: kernels of a host stream that run as one (ops/fusion/fusion.h). What only they see is
// never written to memory.
#pragma once

#include <utility>
#include <vector>

#include "ops/fusion/fusion.h"
#include "tensor/fusion/group.h"

namespace ofl {

class HostFusion final : public Fusion<ops::FusionGroup> {
 public:
  bool launch(vm::LaunchContext& context) override;
  int failed() const override { return group_.failed(); }

 private:
  bool find_memories();
  bool take_over(ops::FusionGroup::Memory& memory);
  bool allocate(ops::FusionGroup::Memory& memory);
  void give_back();

  std::vector<std::pair<TensorStorage*, TensorStorage*>>
      taken_over_;  // the storage that has the memory now, and the one that had it
};

}  // namespace ofl
