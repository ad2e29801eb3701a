// A pause of a thread that looks again and again.
#pragma once

#include <atomic>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

namespace ofl {

/// Whether threads of the process have one core between them, as far as it is known: whatever one
/// of them looks for, another one does when this one gives way.
class OneCore {
 public:
  static bool is_shared() { return is_shared_.load(std::memory_order_relaxed); }
  /// The process is meant to use so many cores; it may have no more than one.
  static void note_cores(int meant) {
    is_shared_.store(meant == 1 || has_one(), std::memory_order_relaxed);
  }

 private:
  static bool has_one() {
#if defined(__linux__)
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed) == 1;
#endif
    return std::thread::hardware_concurrency() == 1;
  }
  static inline std::atomic<bool> is_shared_{has_one()};  // a hint: no other memory hangs on it
};

/// About 0.5 us between two looks: each look takes the cache line of the thread that writes away.
inline void pause_briefly() {
#if defined(__x86_64__)
  if (!OneCore::is_shared()) {
    for (int i = 0; i < 16; ++i) __builtin_ia32_pause();
    return;
  }
#endif
  std::this_thread::yield();
}

}  // namespace ofl
