// The knobs, as text "key=value,...": ONEFLOW_LITE_CUDA_SIM at the first use, simcuda_configure
// later.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace simcuda {

/// Read by every thread, changed between uses; a change holds for later calls.
struct Config {
  // Fixed by cuInit.
  std::atomic<int64_t> devices{1};
  std::atomic<int64_t> memory{int64_t{1} << 30};  // bytes a device
  std::atomic<int64_t> multiprocessors{4};
  std::atomic<int64_t> capability{90};  // 10 * major + minor
  std::atomic<int64_t> peer{1};         // 0: no device can access another's memory

  std::atomic<int64_t> jitter_ns{0};  // upper bound of a random delay before each queued operation
  std::atomic<int64_t> seed{1};       // of the jitter; each stream made later draws from it
  std::atomic<int64_t> launch_ns{0};  // from the launch until the kernel may start
  std::atomic<int64_t> kernel_ns{0};  // what a kernel takes at least
  std::atomic<double> h2d{0}, d2h{0}, d2d{0};  // bytes/s; 0: as fast as memcpy
  std::atomic<int64_t> poison{int64_t{64}
                              << 20};  // bytes of a block that are filled; its ends, if larger
};

Config& config();

/// Applies the items of `text` in order. Returns what is wrong with the first bad one, where it
/// stops; "".
std::string configure(const std::string& text, bool is_initialized);

}  // namespace simcuda
