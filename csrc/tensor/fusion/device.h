// FusedDeviceKernels: kernels of a device queue that run as one kernel of the device's own
// (ops/cuda/fusion/fusion.h). What only they would see stays in registers.
#pragma once

#include <memory>
#include <vector>

#include "ops/cuda/fusion/fusion.h"
#include "tensor/storage.h"
#include "vm/group.h"

namespace ofl {

class FusedDeviceKernels final : public vm::Group {
 public:
  /// A group that begins with this kernel, or null where it runs by itself.
  static std::unique_ptr<vm::Group> begin(vm::Slot* slot);

  bool add(vm::Slot* slot) override;
  bool full() const override { return group_.full(); }
  size_t segment() const override { return static_cast<size_t>(group_.segment()); }
  /// False also while the kernel is being compiled.
  bool launch(vm::LaunchContext& context) override;
  int failed() const override { return 0; }
  Savings savings() const override { return savings_; }

 private:
  void find_unseen();
  void find_memories(ep::Stream& queue);
  void give_back(ep::Stream& queue);

  ops::cuda::Fusion group_;
  std::vector<TensorStorage*> allocated_;
  Savings savings_;
};

/// The group of a stream's device that begins with this kernel; null where there is none.
std::unique_ptr<vm::Group> begin_group(vm::Slot* slot);

}  // namespace ofl
