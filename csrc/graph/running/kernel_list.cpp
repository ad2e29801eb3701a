#include "graph/running/kernel_list.h"

#include "ep/memory/caching_allocator.h"

namespace ofl::graph {

KeptScratch::~KeptScratch() {
  for (const Block& block : blocks_) device_.allocator().free(block.memory, block.bytes, nullptr);
}

/// A block that has become too small stays, as launches in flight may use it.
void* KeptScratch::take(size_t bytes) {
  constexpr size_t kMost = size_t{8} << 20;  // work on more takes longer than its launches
  while (taken_ < blocks_.size()) {
    const Block& block = blocks_[taken_++];
    if (block.bytes >= bytes) return block.memory;
  }
  if (bytes_ + bytes > kMost) {
    throw ep::CaptureError(concat("it works in ", ep::bytes_str(bytes), " of other memory"));
  }
  blocks_.reserve(blocks_.size() + 1);
  blocks_.push_back({device_.allocator().alloc(bytes, nullptr), bytes});
  bytes_ += bytes;
  ++taken_;
  return blocks_.back().memory;
}

namespace {

std::vector<unsigned char> bytes_of(const void* args, size_t bytes) {
  const auto* const begin = static_cast<const unsigned char*>(args);
  return {begin, begin + bytes};
}

}  // namespace

KeptKernel::KeptKernel(const ep::HostKernel& kernel)
    : host_(kernel), args_(bytes_of(kernel.args, kernel.args_bytes)) {}

KeptKernel::KeptKernel(const ep::DeviceKernel& kernel)
    : device_(kernel), args_(bytes_of(kernel.args, kernel.args_bytes)) {}

void KeptKernel::launch(ep::Stream& queue) const {
  if (host_) return queue.launch({host_->run, args_.data(), args_.size(), host_->work});
  ep::DeviceKernel kernel = *device_;
  kernel.args = args_.data();
  queue.launch(kernel);
}

void KeptKernel::set(ep::Graph& graph, int number) const {
  if (host_) {
    const ep::HostKernel kernel{host_->run, args_.data(), args_.size(), host_->work};
    return graph.set(number, kernel);
  }
  ep::DeviceKernel kernel = *device_;
  kernel.args = args_.data();
  graph.set(number, kernel);
}

bool KeptKernel::is_like(const KeptKernel& other) const {
  if (args_.size() != other.args_.size() || host_.has_value() != other.host_.has_value()) {
    return false;
  }
  if (host_) return host_->run == other.host_->run;
  const ep::DeviceKernel &a = *device_, &b = *other.device_;
  return a.function == b.function && a.items == b.items && a.blocks == b.blocks &&
         a.threads == b.threads && a.shared_bytes == b.shared_bytes;
}

bool KernelList::gemm(const ep::GemmCall&) {
  throw ep::CaptureError("a library makes the product");
}

void KernelList::copy(void*, const void*, size_t, ep::CopyKind) {
  throw ep::CaptureError("it runs on the host, on copies of its operands");
}

void KernelList::record(ep::Event&) { throw ep::CaptureError("it records an event"); }

void KernelList::wait(ep::Event&) { throw ep::CaptureError("it waits for an event"); }

void* KernelList::alloc_async(size_t bytes, uint32_t) { return scratch_.take(bytes); }

void KernelList::free_async(void*, size_t) {}

}  // namespace ofl::graph
