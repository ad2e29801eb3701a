// The knobs, as text "key=value,...": ONEFLOW_LITE_CUDA_SIM at the first use, simcuda_configure
// later.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace simcuda {

/// In which order the threads of a kernel take their turns.
enum class Lanes : int64_t {
  ordered,
  random,
  twice,  // random, two times, and the results must agree
};

/// Read by every thread, changed between uses; a change holds for later calls.
struct Config {
  // Fixed by cuInit.
  std::atomic<int64_t> devices{1};
  std::atomic<int64_t> memory{int64_t{1} << 30};  // bytes a device
  std::atomic<int64_t> multiprocessors{4};
  std::atomic<int64_t> capability{90};  // 10 * major + minor
  std::atomic<int64_t> peer{1};         // 0: no device can access another's memory
  std::atomic<int64_t> page{2 << 20};   // of a device's memory

  std::atomic<int64_t> jitter_ns{0};  // upper bound of a random delay before each queued operation
  std::atomic<int64_t> seed{1};       // of the jitter; each stream made later draws from it
  std::atomic<int64_t> launch_ns{0};  // from the launch until the kernel may start
  std::atomic<int64_t> kernel_ns{0};  // what a kernel takes at least
  std::atomic<double> h2d{0}, d2h{0}, d2d{0};  // bytes/s; 0: as fast as memcpy
  std::atomic<int64_t> poison{int64_t{64}
                              << 20};  // bytes of a block that are filled; its ends, if larger
  std::atomic<int64_t> lanes{static_cast<int64_t>(Lanes::random)};
  std::atomic<int64_t> guess{1};     // 0: only pointers outside of structs are known as such
  std::atomic<int64_t> queue{1024};  // operations that a stream has before a call waits for room
  // Device memory that is not asked for by name.
  std::atomic<int64_t> module{64 << 10};   // of a loaded image
  std::atomic<int64_t> library{4 << 20};   // of a handle of cuBLAS, beside its workspace
  std::atomic<int64_t> foreign{0};         // what other processes have of each device
  std::atomic<int64_t> pinned{1LL << 50};  // bytes that the host can pin
};

Config& config();

/// Applies the items of `text` in order. Returns what is wrong with the first bad one, where it
/// stops; "".
std::string configure(const std::string& text, bool is_initialized);

}  // namespace simcuda
