// The memory and queues of a cuda device for other libraries: CuPy, PyTorch and whoever else uses
// its primary context.
#pragma once

#include "ep/cuda/cuda_context.h"
#include "ep/interop.h"

namespace ofl::ep {

class CudaInterop final : public Interop {
 public:
  explicit CudaInterop(cuda::DeviceContext& context) : context_(context) {}

  uintptr_t handle_of(Stream& queue) override;
  void make_wait(uintptr_t foreign_queue, Event& event) override;
  void record(uintptr_t foreign_queue, Event& event) override;
  void record_all(Event& event) override;
  std::shared_ptr<void> make_current() override {
    return std::make_shared<cuda::Current>(context_);
  }

 private:
  cuda::DeviceContext& context_;
};

}  // namespace ofl::ep
