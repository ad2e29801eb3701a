#include "ep/cuda/cuda_device.h"

#include <atomic>

#include "ep/caching_allocator.h"
#include "ep/cuda/cuda_context.h"
#include "ep/cuda/cuda_stream.h"

namespace ofl::ep {

namespace {

using cuda::call;
using cuda::Current;

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index)
      : Device({DeviceType::cuda, static_cast<int16_t>(index)}), context_(id()) {}
  ~CudaDevice() override { shutdown(); }

  bool is_host() const override { return false; }
  bool runs_host_kernels() const override { return false; }
  std::unique_ptr<Stream> create_stream(QueuePriority priority) override {
    return std::make_unique<CudaStream>(*this, context_, priority);
  }
  std::unique_ptr<Event> create_event() override { return std::make_unique<CudaEvent>(context_); }

  void* alloc(size_t bytes) override;
  void free(void* ptr, size_t bytes) override;
  void* alloc_pinned(size_t bytes) override;
  void free_pinned(void* ptr, size_t bytes) override;
  MemoryInfo memory_info() override;
  void* host_address(void* ptr) override;
  void set_active() override;
  void after_fork_in_child() override { context_.after_fork_in_child(); }

 private:
  cuda::DeviceContext context_;
  std::atomic<size_t> held_{0};
};

void* CudaDevice::alloc(size_t bytes) {
  Current current(context_);
  cuda::Pointer pointer = 0;
  const cuda::Result result = call().MemAlloc(&pointer, bytes);
  if (result == cuda::kOutOfMemory) {
    const MemoryInfo info = memory_info();
    fail(ErrorKind::out_of_memory, "[", id().str(), "] out of memory: asked for ", bytes_str(bytes),
         ", held ", bytes_str(info.held), ", capacity ", bytes_str(info.capacity));
  }
  context_.check(result, "cuMemAlloc");
  held_ += bytes;
  return reinterpret_cast<void*>(pointer);
}

// The memory of a dead device went with its context.
void CudaDevice::free(void* ptr, size_t bytes) {
  held_ -= bytes;
  if (context_.is_dead()) return;
  Current current(context_);
  context_.check(call().MemFree(reinterpret_cast<cuda::Pointer>(ptr)), "cuMemFree");
}

void* CudaDevice::alloc_pinned(size_t bytes) {
  constexpr unsigned kPortable = 1;  // pinned for all devices
  Current current(context_);
  void* ptr = nullptr;
  const cuda::Result result = call().MemHostAlloc(&ptr, bytes > 0 ? bytes : 1, kPortable);
  if (result == cuda::kOutOfMemory) {
    fail(ErrorKind::out_of_memory, "[", id().str(), "] out of memory: asked for ", bytes_str(bytes),
         " of pinned host memory");
  }
  context_.check(result, "cuMemHostAlloc");
  return ptr;
}

void CudaDevice::free_pinned(void* ptr, size_t) {
  if (context_.is_dead()) return;
  Current current(context_);
  context_.check(call().MemFreeHost(ptr), "cuMemFreeHost");
}

MemoryInfo CudaDevice::memory_info() {
  Current current(context_);
  size_t free = 0, total = 0;
  context_.check(call().MemGetInfo(&free, &total), "cuMemGetInfo");
  return {total, held_};
}

void* CudaDevice::host_address(void* ptr) {
  fail(ErrorKind::runtime, "[", id().str(), "] the host cannot touch ", ptr,
       ", which is memory of the device");
}

void CudaDevice::set_active() {
  if (context_.is_dead()) return;
  context_.check(call().CtxSetCurrent(context_.handle()), "cuCtxSetCurrent");
}

}  // namespace

int cuda_device_count() { return cuda::driver().devices; }

std::string cuda_problem() { return cuda::driver().problem; }

std::unique_ptr<Device> make_cuda_device(int index) { return std::make_unique<CudaDevice>(index); }

}  // namespace ofl::ep
