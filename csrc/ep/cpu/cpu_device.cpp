#include "ep/cpu/cpu_device.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "ep/cpu/host_memory.h"
#include "ep/device.h"
#include "ep/memory/caching_allocator.h"
#include "ep/threads/helper_pool.h"

namespace ofl::ep {

namespace {

constexpr size_t kMaxCached = size_t{1} << 30;

size_t physical_memory() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

class CpuEvent final : public Event {
 public:
  bool done() override { return true; }
  void sync() override {}
  int64_t reached_at_ns() override { return reached_at_ns_; }

  void reach() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    reached_at_ns_ = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  }

 private:
  std::atomic<int64_t> reached_at_ns_{0};
};

class CpuStream final : public Stream {
 public:
  explicit CpuStream(Device& device) : device_(device) {}

  void launch(const HostKernel& kernel) override { kernel.run(const_cast<void*>(kernel.args)); }
  void copy(void* dst, const void* src, size_t bytes, CopyKind) override {
    if (bytes > 0) std::memcpy(dst, src, bytes);
  }
  void record(Event& event) override { static_cast<CpuEvent&>(event).reach(); }
  void wait(Event& event) override { event.sync(); }
  void sync() override {}
  std::optional<Error> async_error() override { return std::nullopt; }
  Device& device() override { return device_; }

 private:
  Device& device_;
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(ofl::Device id)
      : Device(id, {kMaxCached, false}), capacity_(physical_memory()) {}
  ~CpuDevice() override { shutdown(); }

  bool is_host() const override { return true; }
  std::unique_ptr<Stream> create_stream(QueuePriority) override {
    return std::make_unique<CpuStream>(*this);
  }
  std::unique_ptr<Event> create_event(EventKind) override { return std::make_unique<CpuEvent>(); }

  void* alloc(size_t bytes) override;
  void free(void* ptr, size_t bytes) override {
    free_host_memory(ptr);
    held_ -= bytes;
  }
  void* alloc_pinned(size_t bytes) override { return alloc(bytes); }
  void free_pinned(void* ptr, size_t bytes) override { free(ptr, bytes); }
  MemoryInfo memory_info() override { return {capacity_, held_}; }
  void* host_address(void* ptr) override;
  HelperPool* helpers() override { return &helpers_; }
  void after_fork_in_child() override { helpers_.after_fork_in_child(); }

 private:
  HelperPool helpers_{static_cast<int>(std::thread::hardware_concurrency())};
  const size_t capacity_;
  std::atomic<size_t> held_{0};
};

void* CpuDevice::alloc(size_t bytes) {
  const bool fits = bytes <= capacity_ && held_.fetch_add(bytes) <= capacity_ - bytes;
  if (fits) {
    if (void* ptr = allocate_host_memory(bytes)) return ptr;
  }
  if (bytes <= capacity_) held_ -= bytes;
  fail(ErrorKind::out_of_memory, "[cpu] out of memory: asked for ", bytes_str(bytes), ", held ",
       bytes_str(held_), ", capacity ", bytes_str(capacity_));
}

void* CpuDevice::host_address(void* ptr) {
  if (reinterpret_cast<uint64_t>(ptr) >> kHostAddressBits == 0) return ptr;
  const std::optional<ofl::Device> owner = owner_of(ptr);
  if (!owner) return ptr;
  fail(ErrorKind::runtime, "[cpu] ", ptr, " is memory of ", owner->str(),
       "; a cpu kernel cannot touch it");
}

}  // namespace

Backend cpu_backend() {
  Backend row;
  row.name = "cpu";
  row.count = [] { return 1; };
  row.make = [](ofl::Device id) -> std::unique_ptr<Device> {
    return std::make_unique<CpuDevice>(id);
  };
  row.dlpack_type = 1, row.dlpack_also = 3;  // kDLCPU; kDLCUDAHost, which is pinned
  return row;
}

}  // namespace ofl::ep
