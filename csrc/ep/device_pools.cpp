// Each device has pools of memory, events and pinned memory beside its backend. They are put
// together here, above both the contract of a backend and the pools.
#include "ep/device.h"

#include "ep/event_pool.h"
#include "ep/memory/arena.h"
#include "ep/memory/caching_allocator.h"
#include "ep/memory/staging_pool.h"

namespace ofl::ep {

namespace {

[[noreturn]] void refuse_kernels(Stream& queue) {
  fail(ErrorKind::runtime, "[", queue.device().id().str(),
       "] the device has no kernels of its own");
}

}  // namespace

void Stream::launch(const DeviceKernel&) { refuse_kernels(*this); }

void Stream::launch(const UserKernel&) { refuse_kernels(*this); }

bool Stream::gemm(const GemmCall&) { return false; }

namespace {

[[noreturn]] void refuse_graphs(Stream& queue) {
  fail(ErrorKind::runtime, "[", queue.device().id().str(), "] the device has no graphs");
}

}  // namespace

void Stream::begin_capture(Stream*) { refuse_graphs(*this); }

std::unique_ptr<Graph> Stream::end_capture(std::unique_ptr<Graph>) { refuse_graphs(*this); }

void Stream::launch(Graph&) { refuse_graphs(*this); }

void Graph::set(int number, const HostKernel&) {
  fail(ErrorKind::runtime, "[graph] kernel ", number, " is none of the host");
}

void Graph::set(int number, const DeviceKernel&) {
  fail(ErrorKind::runtime, "[graph] kernel ", number, " is none of the device");
}

void* Stream::alloc_async(size_t bytes, uint32_t owner_tag) {
  return device().allocator().alloc(bytes, this, owner_tag);
}

void Stream::free_async(void* ptr, size_t bytes) {
  std::vector<EventLease> pending;
  if (!device().is_host()) {
    try {
      pending.push_back(device().events().lease());
      record(*pending.back());
    } catch (const Error&) {  // without an event the host waits instead
      pending.clear();
      sync();
    }
  }
  device().allocator().free(ptr, bytes, this, std::move(pending));
}

Device::Device(ofl::Device id, const AllocatorOptions& options)
    : id_(id),
      backend_(backend_of(id.type)),
      events_(std::make_unique<EventPool>(*this)),
      allocator_(std::make_unique<CachingAllocator>(*this, options)),
      arena_(std::make_unique<Arena>(*allocator_)),
      staging_(std::make_unique<StagingPool>(*this)) {}

Device::~Device() = default;

void* Device::load_kernel(const std::string&, const char* name) {
  fail(ErrorKind::runtime, "[", id_.str(), "] cannot load ", name,
       ": the device has no kernels of its own");
}

size_t Device::release_caches() { return allocator_->release_cache() + staging_->release_cache(); }

// The allocator before the events: its pending blocks hold leases of the pool.
void Device::shutdown() {
  staging_.reset();
  arena_.reset();
  allocator_.reset();
  events_.reset();
}

}  // namespace ofl::ep
