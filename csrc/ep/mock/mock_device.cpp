#include "ep/mock/mock_device.h"

#include <cstdlib>

#include "ep/device.h"
#include "ep/memory/caching_allocator.h"
#include "ep/mock/mock_knobs.h"
#include "ep/mock/mock_memory.h"
#include "ep/mock/mock_stream.h"

namespace ofl::ep {

namespace {

class MockDevice final : public Device {
 public:
  explicit MockDevice(ofl::Device id) : Device(id, {SIZE_MAX, true}) {}
  ~MockDevice() override { shutdown(); }

  bool is_host() const override { return false; }
  bool has_graphs() const override { return true; }
  std::unique_ptr<Stream> create_stream(QueuePriority) override {
    return std::make_unique<MockStream>(*this, streams_);
  }
  std::unique_ptr<Event> create_event(EventKind) override { return std::make_unique<MockEvent>(); }

  void* alloc(size_t bytes) override;
  void free(void* ptr, size_t bytes) override;
  void* alloc_pinned(size_t bytes) override;
  void free_pinned(void* ptr, size_t) override { std::free(ptr); }
  MemoryInfo memory_info() override { return {mock_knobs().capacity, held_}; }
  void on_alloc_request(size_t bytes) override;
  void* host_address(void* ptr) override;
  void after_fork_in_child() override;

 private:
  bool reserve(size_t bytes);
  void check_owner(const void* ptr) const;

  std::atomic<size_t> held_{0};
  MockStreamRegistry streams_;
};

bool MockDevice::reserve(size_t bytes) {
  size_t held = held_;
  do {
    const size_t capacity = mock_knobs().capacity;
    if (held > capacity || bytes > capacity - held) return false;
  } while (!held_.compare_exchange_weak(held, held + bytes));
  return true;
}

void* MockDevice::alloc(size_t bytes) {
  if (reserve(bytes)) {
    if (void* ptr = mock_alloc_raw(bytes, id().index)) return ptr;
    held_ -= bytes;
  }
  fail(ErrorKind::out_of_memory, "[", id().str(), "] out of memory: asked for ", bytes_str(bytes),
       ", held ", bytes_str(held_), ", capacity ", bytes_str(mock_knobs().capacity));
}

void MockDevice::free(void* ptr, size_t bytes) {
  check_owner(ptr);
  mock_free_raw(ptr, bytes);
  held_ -= bytes;
}

void* MockDevice::alloc_pinned(size_t bytes) {
  on_alloc_request(bytes);
  void* ptr = nullptr;
  if (posix_memalign(&ptr, 64, bytes > 0 ? bytes : 1) != 0) {
    fail(ErrorKind::out_of_memory, "[", id().str(), "] out of memory: asked for ", bytes_str(bytes),
         " of pinned host memory");
  }
  return ptr;
}

void MockDevice::on_alloc_request(size_t bytes) {
  if (!count_down(mock_knobs().faults.alloc)) return;
  fail(ErrorKind::out_of_memory, "[", id().str(), "] injected failure of an allocation of ", bytes,
       " bytes");
}

void* MockDevice::host_address(void* ptr) {
  check_owner(ptr);
  return mock_untag(ptr);
}

void MockDevice::check_owner(const void* ptr) const {
  if (mock_owner(ptr) == id().index) return;
  fail(ErrorKind::runtime, "[", id().str(), "] ", describe_memory(ptr));
}

void MockDevice::after_fork_in_child() {
  for (MockStream* stream : streams_.streams) stream->reset_queue_after_fork();
}

}  // namespace

Backend mock_backend() {
  Backend row;
  row.name = "mock";
  row.count = [] { return mock_knobs().devices; };
  row.make = [](ofl::Device id) -> std::unique_ptr<Device> {
    return std::make_unique<MockDevice>(id);
  };
  row.hint = [] { return std::string("; set ONEFLOW_LITE_MOCK=devices=N for more"); };
  row.owner = [](const void* ptr) { return mock_owner(ptr).value_or(-1); };
  return row;
}

}  // namespace ofl::ep
