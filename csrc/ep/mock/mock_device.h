// mock:N, a device that is not there: own memory space, real queues (a thread each), events, stream
// waits, pinned staging, peer copies, and knobs. Runs host kernels. The template for a new backend.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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
  std::atomic<double> launch_latency{0};  // seconds from launch until a kernel may start
  std::atomic<double> compute{0};         // elements/s; 0: as fast as the host kernel runs
  std::atomic<double> jitter{0};          // seconds, upper bound of a random delay before each task
  MockFaults faults;                      // counted down: the call that brings a counter to 0 fails
};

MockKnobs& mock_knobs();

std::unique_ptr<Device> make_mock_device(int index);

/// Memory of mock:N is tagged: the address a user sees has this bit set (and N in the bits below
/// it), so that the host cannot touch it by luck.
inline constexpr int kMockTagShift = 56;
inline constexpr uint64_t kMockTag = 0x4d;  // non-canonical on x86-64 and AArch64 without TBI use

}  // namespace ofl::ep
