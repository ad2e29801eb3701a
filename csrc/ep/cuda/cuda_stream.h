// The queues and events of a cuda device.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "ep/cuda/cublas.h"
#include "ep/cuda/cuda_context.h"
#include "ep/device.h"

namespace ofl::ep {

class CudaEvent final : public Event {
 public:
  explicit CudaEvent(cuda::DeviceContext& context);
  ~CudaEvent() override;

  bool done() override;
  void sync() override;
  int64_t reached_at_ns() override { return context_.time_of(handle_); }
  cuda::EventHandle handle() const { return handle_; }

 private:
  cuda::DeviceContext& context_;
  cuda::EventHandle handle_ = nullptr;
};

class CudaStream final : public Stream {
 public:
  CudaStream(Device& device, cuda::DeviceContext& context, QueuePriority priority);
  ~CudaStream() override;

  /// Runs on a thread of the driver, where no function of CUDA may be called.
  void launch(const HostKernel& kernel) override;
  void launch(const DeviceKernel& kernel) override;
  bool has_gemm() override { return cuda::cublas_version() > 0; }
  bool gemm(const GemmCall& call) override;
  void copy(void* dst, const void* src, size_t bytes, CopyKind kind) override;
  void record(Event& event) override;
  void wait(Event& event) override;
  void sync() override;
  std::optional<Error> async_error() override;
  Device& device() override { return device_; }

 private:
  Device& device_;
  cuda::DeviceContext& context_;
  cuda::StreamHandle handle_ = nullptr;
  std::unique_ptr<cuda::Cublas> cublas_;  // made for the first product
};

}  // namespace ofl::ep
