// CudaFusion: kernels of a device queue that run as one kernel of the device's own
// (ops/cuda/fusion/fusion.h). What only they see stays in registers.
#pragma once

#include <vector>

#include "ops/cuda/fusion/plan.h"
#include "tensor/fusion/group.h"

namespace ofl {

class CudaFusion final : public Fusion<ops::cuda::FusionGroup> {
 public:
  size_t segment() const override { return static_cast<size_t>(group_.segment()); }
  /// False also while the kernel is being compiled.
  bool launch(vm::LaunchContext& context) override;
  int failed() const override { return 0; }

 private:
  void allocate(const std::vector<Memory>& memories, ep::Stream& queue);
  void give_back(ep::Stream& queue);
};

}  // namespace ofl
