// Kernels and products that a private stream has captured. No stream of the machine is ever
// captured: other threads record events there at any time.
#pragma once

#include <memory>
#include <vector>

#include "ep/cuda/cuda_context.h"
#include "ep/device.h"

namespace ofl::ep {

/// What a kernel is launched with: as many blocks as it asks for, or as are good for its items.
cuda::KernelNode kernel_node(const cuda::DeviceContext& context, const DeviceKernel& kernel);

class CudaGraph final : public Graph {
 public:
  explicit CudaGraph(cuda::DeviceContext& context) : context_(context) {}
  ~CudaGraph() override;

  void set(int number, const DeviceKernel& kernel) override;
  void launch(Device& device, cuda::StreamHandle stream);
  /// Later launches do what was captured into `other`; false: that has other nodes or edges.
  bool update(Device& device, const CudaGraph& other);

 private:
  friend class CudaCapture;

  cuda::DeviceContext& context_;
  cuda::GraphHandle graph_ = nullptr;  // the driver knows the nodes of exec_ by those of this one
  cuda::GraphExec exec_ = nullptr;
  std::vector<cuda::GraphNode> nodes_;  // of the kernels, in the order of their launches
};

/// The capture of a stream, from its beginning. Destroyed before its end, it captures nothing.
class CudaCapture {
 public:
  CudaCapture(cuda::DeviceContext& context, cuda::StreamHandle stream);
  ~CudaCapture();
  CudaCapture(const CudaCapture&) = delete;

  /// A kernel has been launched into the stream.
  void launched();
  /// `before` is an earlier capture or null: where it can do what was captured now, it is returned.
  std::unique_ptr<Graph> end(Device& device, std::unique_ptr<Graph> before);

 private:
  cuda::DeviceContext& context_;
  const cuda::StreamHandle stream_;
  std::unique_ptr<CudaGraph> graph_;  // null: it has ended
};

}  // namespace ofl::ep
