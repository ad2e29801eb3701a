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

bool is_like(const ep::GemmOperand& a, const ep::GemmOperand& b) {
  return a.transposed == b.transposed && a.lead == b.lead && a.stride == b.stride;
}

bool is_like(const ep::GemmCall& a, const ep::GemmCall& b) {
  return a.type == b.type && a.m == b.m && a.k == b.k && a.n == b.n && is_like(a.a, b.a) &&
         is_like(a.b, b.b) && a.out_lead == b.out_lead && a.out_stride == b.out_stride &&
         a.count == b.count;
}

}  // namespace

KeptLaunch::KeptLaunch(const ep::HostKernel& kernel)
    : host_(kernel), args_(bytes_of(kernel.args, kernel.args_bytes)) {}

KeptLaunch::KeptLaunch(const ep::DeviceKernel& kernel)
    : device_(kernel), args_(bytes_of(kernel.args, kernel.args_bytes)) {}

bool KeptLaunch::launch(ep::Stream& queue) const {
  if (product_) return queue.gemm(*product_);
  if (host_) {
    queue.launch({host_->run, args_.data(), args_.size(), host_->work});
    return true;
  }
  ep::DeviceKernel kernel = *device_;
  kernel.args = args_.data();
  queue.launch(kernel);
  return true;
}

void KeptLaunch::set(ep::Graph& graph, int number) const {
  if (host_) {
    const ep::HostKernel kernel{host_->run, args_.data(), args_.size(), host_->work};
    return graph.set(number, kernel);
  }
  ep::DeviceKernel kernel = *device_;
  kernel.args = args_.data();
  graph.set(number, kernel);
}

bool KeptLaunch::is_like(const KeptLaunch& other) const {
  if (args_.size() != other.args_.size() || host_.has_value() != other.host_.has_value() ||
      product_.has_value() != other.product_.has_value()) {
    return false;
  }
  if (product_) return ofl::graph::is_like(*product_, *other.product_);
  if (host_) return host_->run == other.host_->run;
  const ep::DeviceKernel &a = *device_, &b = *other.device_;
  return a.function == b.function && a.items == b.items && a.blocks == b.blocks &&
         a.threads == b.threads && a.shared_bytes == b.shared_bytes;
}

bool KeptLaunch::has_args_of(const KeptLaunch& other) const {
  if (!product_) return args_ == other.args_;
  const ep::GemmCall &x = *product_, &y = *other.product_;
  return x.a.data == y.a.data && x.b.data == y.b.data && x.out == y.out && x.rounds == y.rounds;
}

bool KernelList::gemm(const ep::GemmCall& call) {
  if (takes_products_) launches_.emplace_back(call);
  return takes_products_;
}

void KernelList::copy(void*, const void*, size_t, ep::CopyKind) {
  throw ep::CaptureError("it runs on the host, on copies of its operands");
}

void KernelList::record(ep::Event&) { throw ep::CaptureError("it records an event"); }

void KernelList::wait(ep::Event&) { throw ep::CaptureError("it waits for an event"); }

void* KernelList::alloc_async(size_t bytes, uint32_t) { return scratch_.take(bytes); }

void KernelList::free_async(void*, size_t) {}

}  // namespace ofl::graph
