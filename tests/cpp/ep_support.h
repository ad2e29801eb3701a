// What the tests of the ep layer share. For one source file a program.
#pragma once

#include <future>
#include <memory>
#include <type_traits>

#include "backends.h"
#include "check.h"
#include "ep/mock/mock_knobs.h"

namespace ofl::ep {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// Sets knobs for one test.
struct Knobs {
  ~Knobs() {
    MockKnobs& k = mock_knobs();
    k.capacity = uint64_t{1} << 32;
    k.h2d = k.d2h = k.d2d = k.launch_latency = k.compute = k.jitter = 0;
    k.faults.alloc = k.faults.launch = k.faults.copy = k.faults.event = 0;
  }
  MockKnobs* operator->() { return &mock_knobs(); }
};

// Launches a copy of a trivially copyable function object.
template <typename F>
void launch(Stream& stream, F f, double work = 0) {
  static_assert(std::is_trivially_copyable<F>::value, "arguments are copied as bytes");
  stream.launch({[](void* args) { (*static_cast<F*>(args))(); }, &f, sizeof(f), work});
}

// Holds a queue until open() or the end of the scope, which waits for the queue.
class Gate {
 public:
  explicit Gate(Stream& stream) : stream_(stream) {
    launch(stream, [this] { opened_.get_future().wait(); });
  }
  ~Gate() {
    open();
    stream_.sync();
  }
  void open() {
    if (!is_open_) opened_.set_value();
    is_open_ = true;
  }

 private:
  Stream& stream_;
  std::promise<void> opened_;
  bool is_open_ = false;
};

std::unique_ptr<Stream> stream_of(Device& device) {
  return device.create_stream(QueuePriority::normal);
}

}  // namespace
}  // namespace ofl::ep
