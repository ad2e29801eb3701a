// The knobs of mock devices: their speeds, their memory, and the calls that fail.
#pragma once

#include <atomic>
#include <cstdint>

#include "ep/device.h"

namespace ofl::ep {

/// Injection points. Counts are per process, from 1; 0 means never. The n-th call fails once.
struct MockFaults {
  std::atomic<int64_t> alloc{0};   // n-th allocation request (of CachingAllocator, or pinned)
  std::atomic<int64_t> launch{0};  // n-th kernel launch
  std::atomic<int64_t> copy{0};    // n-th copy
  std::atomic<int64_t> event{0};   // n-th event record
};

/// All mock devices of a process share one set of knobs; changes hold for later calls.
struct MockKnobs {
  int devices = 2;
  std::atomic<uint64_t> capacity{uint64_t{1} << 32};  // bytes a device
  std::atomic<double> h2d{0};                         // bytes/s; 0: as fast as memcpy
  std::atomic<double> d2h{0};                         // bytes/s
  std::atomic<double> d2d{0};                         // bytes/s, within a device and between peers
  std::atomic<double> launch_latency{0};              // seconds that a launch takes a queue
  std::atomic<double> compute{0};  // elements/s; 0: as fast as the host kernel runs
  std::atomic<double> jitter{0};   // seconds, upper bound of a random delay before each task
  MockFaults faults;               // counted down: the call that brings a counter to 0 fails
};

MockKnobs& mock_knobs();

/// Counts one call; true for the call that takes the counter from 1 to 0.
bool count_down(std::atomic<int64_t>& counter);

/// `what` with its article: "a launch".
[[noreturn]] void fail_injected(const Device& device, const char* what);

}  // namespace ofl::ep
