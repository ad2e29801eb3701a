// StretchGuess: whether a thread works through a long stretch of operations before it looks at a
// result. None of them is long enough to wake a helper for it, but all together are:
//
//   the thread:  [op 1][op 2][op 3][op 4][op 5][op 6] look      alone
//   the thread:  [op 1][op 2][o3][o4][o5][o6] look              a helper is woken at the first one,
//   a helper:        ..wakes..[o3][o4][o5][o6]                  and stays awake between them
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace ofl::vm {

/// Any thread. A guess from the past: threads that do so at the same time spoil each other's, and
/// no result depends on it.
class StretchGuess {
 public:
  /// An operation that a helper could share. True: it is likely to begin a long stretch, for which
  /// one is woken.
  bool begins_long() {
    if (has_begun()) return false;
    has_begun_.store(true, std::memory_order_relaxed);
    return alone_ns_.load(std::memory_order_relaxed) > 0;
  }
  bool has_begun() const { return has_begun_.load(std::memory_order_relaxed); }
  /// A thread looks at a result, after so many nanoseconds inside of such operations.
  void note_look(int64_t inside_ns) {
    has_begun_.store(false, std::memory_order_relaxed);
    const int64_t alone_ns = alone_ns_.load(std::memory_order_relaxed);
    const int patience = patience_.load(std::memory_order_relaxed);
    if (alone_ns > 0) {
      const bool pays = inside_ns >= kShortNs && inside_ns < alone_ns - alone_ns / kLeastGain;
      patience_.store(pays ? std::max(patience / 2, kPatience) : std::min(2 * patience, kMost),
                      std::memory_order_relaxed);
      if (!pays) alone_ns_.store(0, std::memory_order_relaxed);
      return;
    }
    const int long_ones = inside_ns < kLongNs ? 0 : long_ones_.load(std::memory_order_relaxed) + 1;
    const bool is_time = long_ones >= patience;
    if (is_time) alone_ns_.store(inside_ns, std::memory_order_relaxed);
    long_ones_.store(is_time ? 0 : long_ones, std::memory_order_relaxed);
  }

 private:
  /// Some times as long as a helper takes to wake up.
  static constexpr int64_t kLongNs = 150'000;
  /// Three helpers leave less of a stretch that is long without them.
  static constexpr int64_t kShortNs = 50'000;
  /// A helper pays where it takes a tenth of the time away.
  static constexpr int64_t kLeastGain = 10;
  /// So many long stretches in a row go before one with a helper: the first of a kind takes longer
  /// than the others. Where the helper does not pay, the next try takes twice as many.
  static constexpr int kPatience = 2, kMost = 16;

  std::atomic<bool> has_begun_{false};
  std::atomic<int64_t> alone_ns_{0};  // what long ones took without a helper; 0: none is woken
  std::atomic<int> long_ones_{0};     // in a row, without a helper
  std::atomic<int> patience_{kPatience};
};

}  // namespace ofl::vm
