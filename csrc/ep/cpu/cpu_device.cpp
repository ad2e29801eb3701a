#include "ep/cpu/cpu_device.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "ep/cpu/host_memory.h"
#include "ep/memory/caching_allocator.h"
#include "ep/mock/mock_memory.h"
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
  CpuDevice() : Device({DeviceType::cpu, 0}, {kMaxCached, false}), capacity_(physical_memory()) {}
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
  if (!mock_owner(ptr)) return ptr;
  fail(ErrorKind::runtime, "[cpu] ", describe_memory(ptr), "; a cpu kernel cannot touch it");
}

}  // namespace

std::unique_ptr<Device> make_cpu_device() { return std::make_unique<CpuDevice>(); }

}  // namespace ofl::ep
