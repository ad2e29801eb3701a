// A backend that is not in the tree's tables: memory of the host, and queues that run everything in
// the calling thread. It is compiled against the headers of csrc and linked with the extension.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ep/device.h"

namespace toy {
namespace {

namespace ep = ofl::ep;

std::atomic<int> launches{0}, copies{0};

class Event final : public ep::Event {
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

class Stream final : public ep::Stream {
 public:
  explicit Stream(ep::Device& device) : device_(device) {}

  void launch(const ep::HostKernel& kernel) override {
    ++launches;
    kernel.run(const_cast<void*>(kernel.args));
  }
  void copy(void* dst, const void* src, size_t bytes, ep::CopyKind) override {
    ++copies;
    std::memcpy(dst, src, bytes);
  }
  void record(ep::Event& event) override { static_cast<Event&>(event).reach(); }
  void wait(ep::Event&) override {}
  void sync() override {}
  std::optional<ofl::Error> async_error() override { return std::nullopt; }
  ep::Device& device() override { return device_; }

 private:
  ep::Device& device_;
};

class Device final : public ep::Device {
 public:
  explicit Device(ofl::Device id) : ep::Device(id) {}
  ~Device() override { shutdown(); }

  bool is_host() const override { return false; }
  std::unique_ptr<ep::Stream> create_stream(ep::QueuePriority) override {
    return std::make_unique<Stream>(*this);
  }
  std::unique_ptr<ep::Event> create_event(ep::EventKind) override {
    return std::make_unique<Event>();
  }
  void* alloc(size_t bytes) override {
    void* ptr = bytes <= kCapacity ? std::aligned_alloc(64, (bytes + 63) / 64 * 64) : nullptr;
    if (!ptr) ofl::fail(ofl::ErrorKind::out_of_memory, "[", id().str(), "] out of memory");
    held_ += bytes;
    return ptr;
  }
  void free(void* ptr, size_t bytes) override {
    std::free(ptr);
    held_ -= bytes;
  }
  void* alloc_pinned(size_t bytes) override { return alloc(bytes); }
  void free_pinned(void* ptr, size_t bytes) override { free(ptr, bytes); }
  ep::MemoryInfo memory_info() override { return {kCapacity, held_}; }
  void* host_address(void* ptr) override { return ptr; }

 private:
  static constexpr size_t kCapacity = size_t{1} << 30;
  std::atomic<size_t> held_{0};
};

ep::Backend row() {
  ep::Backend row;
  row.name = "toy";
  row.count = [] { return 2; };
  row.make = [](ofl::Device id) -> std::unique_ptr<ep::Device> {
    return std::make_unique<Device>(id);
  };
  row.hint = [] { return std::string("; the box has no more"); };
  row.leave = [] { std::printf("toys leave: %d launches, %d copies\n", +launches, +copies); };
  row.dlpack_type = row.dlpack_also = 16;
  return row;
}

}  // namespace

/// What a capsule for register_backend points to.
extern "C" const ep::Backend* toy_backend() {
  static const ep::Backend backend = row();
  return &backend;
}

/// The same as a test may want it: of another version, of another name, without devices.
extern "C" const ep::Backend* toy_backend_with(uint32_t version, const char* name, bool has_make) {
  static ep::Backend backend;
  backend = row();
  backend.version = version;
  backend.name = name;
  if (!has_make) backend.make = nullptr;
  return &backend;
}

}  // namespace toy
