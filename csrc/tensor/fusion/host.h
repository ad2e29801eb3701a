// HostFusion: kernels of a host stream that run as one (ops/fusion/fusion.h). What only they see is
// never written to memory.
#pragma once

#include <utility>
#include <vector>

#include "ops/fusion/plan.h"
#include "tensor/fusion/group.h"

namespace ofl {

class HostFusion final : public Fusion<ops::FusionGroup> {
 public:
  bool launch(vm::LaunchContext& context) override;
  int failed() const override { return failed_; }

 private:
  bool is_worth_joining(const ops::LoopArgs& args, const int16_t* bases, int known) const override;
  bool find_memories();
  bool take_over(const Memory& memory);
  bool allocate(const Memory& memory);
  void give_back();

  std::vector<std::pair<TensorStorage*, TensorStorage*>>
      taken_over_;  // the storage that has the memory now, and the one that had it
  int failed_ = 0;
};

}  // namespace ofl
