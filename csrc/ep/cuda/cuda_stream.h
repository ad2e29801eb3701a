// The queues and events of a cuda device.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "ep/cuda/cublas.h"
#include "ep/cuda/cuda_context.h"
#include "ep/cuda/cuda_graph.h"
#include "ep/cuda/peer_route.h"
#include "ep/cuda/pinned_ring.h"
#include "ep/device.h"

namespace ofl::ep {

class CudaEvent final : public Event {
 public:
  CudaEvent(cuda::DeviceContext& context, EventKind kind);
  ~CudaEvent() override;

  bool done() override;
  void sync() override;
  int64_t reached_at_ns() override { return context_.time_of(handle_); }
  cuda::EventHandle handle() const { return handle_; }

 private:
  cuda::DeviceContext& context_;
  cuda::EventHandle handle_ = nullptr;
};

/// The ways of a device's copies: pinned memory for those from and to pageable memory of the host,
/// and routes from other devices.
struct CudaRoutes {
  CudaRoutes(Device& device, cuda::DeviceContext& context)
      : h2d(device, context), d2h(device, context), peers(device, context) {}
  cuda::PinnedRing h2d, d2h;
  cuda::PeerRoutes peers;
};

class CudaStream final : public Stream {
 public:
  /// `routes` are the device's.
  CudaStream(Device& device, cuda::DeviceContext& context, CudaRoutes& routes,
             QueuePriority priority);
  ~CudaStream() override;

  /// Runs on a thread of the driver, where no function of CUDA may be called.
  void launch(const HostKernel& kernel) override;
  void launch(const DeviceKernel& kernel) override;
  void launch(const UserKernel& kernel) override;
  void begin_capture(Stream* launcher) override;
  std::unique_ptr<Graph> end_capture(std::unique_ptr<Graph> before) override;
  void launch(Graph& graph) override;
  bool gemm(const GemmCall& call) override;
  void copy(void* dst, const void* src, size_t bytes, CopyKind kind) override;
  void record(Event& event) override;
  void wait(Event& event) override;
  void sync() override;
  std::optional<Error> async_error() override;
  Device& device() override { return device_; }
  cuda::StreamHandle handle() const { return handle_; }

 private:
  cuda::Cublas* cublas();  // null: the library is not there, or not in use
  void copy_to_device(cuda::Pointer dst, const void* src, size_t bytes);
  void copy_to_host(void* dst, cuda::Pointer src, size_t bytes);
  void copy_from_peer(cuda::Pointer dst, cuda::Pointer src, size_t bytes);

  Device& device_;
  cuda::DeviceContext& context_;
  CudaRoutes& routes_;
  cuda::StreamHandle handle_ = nullptr;
  std::unique_ptr<cuda::Cublas> cublas_;    // made for the first product
  std::unique_ptr<CudaCapture> capture_;    // while it captures
  std::unique_ptr<cuda::CublasLoan> loan_;  // of the launcher, while products are captured
};

}  // namespace ofl::ep
