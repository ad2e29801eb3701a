// LookGuess: whether the thread that issues a collective is likely to look at its result next. Then
// it had better see to the collective itself: to hand it over to a worker and to be woken by it
// takes longer than a small one.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace ofl::vm {

/// Any thread. A guess from the past: threads that do so at the same time spoil each other's, and
/// no result depends on it.
class LookGuess {
 public:
  /// A collective is issued. True: a look is likely to come soon.
  bool note_collective(int64_t now) {
    const int64_t first = first_.load(std::memory_order_relaxed);
    if (first == 0) {
      attended_.store(0, std::memory_order_relaxed);
      first_.store(now, std::memory_order_relaxed);
    } else if (!is_soon_after(first, now)) {
      is_soon_.store(false, std::memory_order_relaxed);
    }
    return is_soon_.load(std::memory_order_relaxed);
  }
  /// So long the thread that issued it has seen to collectives, before it went on.
  void note_attended(int64_t ns) { attended_.fetch_add(ns, std::memory_order_relaxed); }
  /// A thread looks at a result.
  void note_look() {
    const int64_t first = first_.load(std::memory_order_relaxed);
    if (first == 0) return;
    is_soon_.store(is_soon_after(first, now_ns()), std::memory_order_relaxed);
    first_.store(0, std::memory_order_relaxed);
  }

 private:
  /// Twice what a hand-over costs, there and back. So much the thread can lose by a wrong guess.
  static constexpr int64_t kSoonNs = 100'000;

  bool is_soon_after(int64_t first, int64_t now) const {
    return now - first - attended_.load(std::memory_order_relaxed) <= kSoonNs;
  }

  std::atomic<int64_t> first_{0};     // when the first one since the last look was issued; 0: none
  std::atomic<int64_t> attended_{0};  // since then
  std::atomic<bool> is_soon_{false};
};

}  // namespace ofl::vm
