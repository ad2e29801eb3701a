#include "ep/cuda/cuda_graph.h"

#include <algorithm>

namespace ofl::ep {

using cuda::call;
using cuda::Current;

cuda::KernelNode kernel_node(const cuda::DeviceContext& context, const DeviceKernel& kernel) {
  constexpr int64_t kBlocksPerMultiprocessor = 32;
  const int64_t most = context.multiprocessors() * kBlocksPerMultiprocessor;
  const int64_t blocks =
      kernel.blocks
          ? kernel.blocks
          : std::clamp<int64_t>((kernel.items + kernel.threads - 1) / kernel.threads, 1, most);
  return {static_cast<cuda::Function>(kernel.function),
          {static_cast<unsigned>(blocks), 1, 1},
          {static_cast<unsigned>(kernel.threads), 1, 1},
          static_cast<unsigned>(kernel.shared_bytes),
          nullptr,
          nullptr,
          nullptr,
          nullptr};
}

/// A launch in flight goes on to its end: the driver destroys the graph after it.
CudaGraph::~CudaGraph() {
  if (context_.is_dead()) return;
  if (exec_) {
    cuda::run_quietly(context_, "cuGraphExecDestroy",
                      [this](const auto& functions) { return functions.GraphExecDestroy(exec_); });
  }
  if (graph_) {
    cuda::run_quietly(context_, "cuGraphDestroy",
                      [this](const auto& functions) { return functions.GraphDestroy(graph_); });
  }
}

void CudaGraph::set(int number, const DeviceKernel& kernel) {
  Current current(context_);
  cuda::KernelNode node = kernel_node(context_, kernel);
  void* parameters[] = {const_cast<void*>(kernel.args)};
  node.parameters = parameters;
  context_.check(
      call().GraphExecKernelNodeSetParams(exec_, nodes_.at(static_cast<size_t>(number)), &node),
      "cuGraphExecKernelNodeSetParams");
}

void CudaGraph::launch(Device& device, cuda::StreamHandle stream) {
  context_.check(cuda::with_memory(device, [&] { return call().GraphLaunch(exec_, stream); }),
                 "cuGraphLaunch");
}

/// Launches in flight are what they were. Nodes of the library can be changed in this way only.
bool CudaGraph::update(Device& device, const CudaGraph& other) {
  if (nodes_.size() != other.nodes_.size()) return false;
  cuda::GraphUpdate found{};
  const cuda::Result result = cuda::with_memory(
      device, [&] { return call().GraphExecUpdate(exec_, other.graph_, &found); });
  if (result == cuda::kUpdateFailure) return false;
  context_.check(result, "cuGraphExecUpdate");
  return true;
}

CudaCapture::CudaCapture(cuda::DeviceContext& context, cuda::StreamHandle stream)
    : context_(context), stream_(stream), graph_(std::make_unique<CudaGraph>(context)) {
  constexpr int kRelaxed = 2;  // other threads may call what they like meanwhile
  context_.check(call().StreamBeginCapture(stream_, kRelaxed), "cuStreamBeginCapture");
}

CudaCapture::~CudaCapture() {
  if (!graph_ || context_.is_dead()) return;
  cuda::run_quietly(context_, "cuStreamEndCapture", [this](const auto& functions) {
    return functions.StreamEndCapture(stream_, &graph_->graph_);
  });
}

/// What comes next in the stream waits for the kernel alone. The library decides how
/// many nodes a product has; they are not asked for.
void CudaCapture::launched() {
  int status = 0;
  const cuda::GraphNode* nodes = nullptr;
  size_t count = 0;
  context_.check(call().StreamGetCaptureInfo(stream_, &status, nullptr, nullptr, &nodes, &count),
                 "cuStreamGetCaptureInfo");
  if (count != 1) {
    fail(ErrorKind::runtime, "[", context_.id().str(), "] a captured kernel has ", count, " nodes");
  }
  graph_->nodes_.push_back(nodes[0]);
}

std::unique_ptr<Graph> CudaCapture::end(Device& device, std::unique_ptr<Graph> before) {
  std::unique_ptr<CudaGraph> graph = std::move(graph_);
  context_.check(call().StreamEndCapture(stream_, &graph->graph_), "cuStreamEndCapture");
  if (before && static_cast<CudaGraph&>(*before).update(device, *graph)) return before;
  before.reset();
  context_.check(
      cuda::with_memory(
          device,
          [&] { return call().GraphInstantiateWithFlags(&graph->exec_, graph->graph_, 0); }),
      "cuGraphInstantiateWithFlags");
  return graph;
}

}  // namespace ofl::ep
