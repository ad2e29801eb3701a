// StretchGuess: whether a thread goes through a long stretch of operations with hardly a pause.
// None of them is long enough to wake a helper for it, but all together are:
//
//   the thread:  [ op 1 ]look[ op 2 ]look[ op 3 ]look[ op 4 ]    alone
//   the thread:  [ op 1 ]look[op 2]look[op3]look[op4]look        a helper is woken at the first,
//   a helper:          ..wakes.. [ 2  ]    [ 3 ]    [ 4 ]        and stays awake between them
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

namespace ofl::vm {

/// Any thread. A guess from the past: threads that issue at the same time spoil each other's, and
/// no result depends on it.
class StretchGuess {
 public:
  enum class Advice : uint8_t { none, wake_helpers, wake_them_again, let_helpers_go };

  /// An operation that a helper could share begins, of so many float32 additions. `before`: when
  /// the thread's last one ended; 0: it is the first. Helpers may sleep after any operation, but
  /// are let go once.
  Advice note_operation(int64_t now, int64_t before, double cost) {
    if (has_begun() && (now - before > kPauseNs || is_whole(before))) end(before);
    cost_.store(cost_.load(std::memory_order_relaxed) + cost, std::memory_order_relaxed);
    const bool is_first = !has_begun();
    if (is_first) began_.store(now, std::memory_order_relaxed);
    if (has_helpers()) return is_first ? Advice::wake_helpers : Advice::wake_them_again;
    if (!is_first) return Advice::none;
    return lets_go_.exchange(false, std::memory_order_relaxed) ? Advice::let_helpers_go
                                                               : Advice::none;
  }
  bool has_begun() const { return began_.load(std::memory_order_relaxed) != 0; }
  /// A thread looks at a result. A stretch goes on where it is not long yet.
  void note_look(int64_t now) {
    if (now - began_.load(std::memory_order_relaxed) >= kLongNs) end(now);
  }
  /// An operation goes to a worker. The next ones may wait for it, so their time tells nothing.
  /// A stretch that was long by `before` (as above) counts.
  void note_handed_over(int64_t before) {
    const int64_t began = began_.load(std::memory_order_relaxed);
    if (began == 0) return;
    if (before - began >= kLongNs) return end(before);
    began_.store(0, std::memory_order_relaxed);
    cost_.store(0, std::memory_order_relaxed);
    if (has_helpers()) end_with_helpers(0, kNone);
  }

 private:
  /// A longer pause ends a stretch.
  static constexpr int64_t kPauseNs = 50'000;
  /// A few times as long as a helper takes to wake up.
  static constexpr int64_t kLongNs = 150'000;
  /// A stretch that goes on for longer, without a look, counts as several.
  static constexpr int64_t kWholeNs = 2'000'000;
  /// A helper pays where it takes a tenth of the time away, in a stretch of this length at least.
  /// One in which it does not may have been disturbed; two in a row count.
  static constexpr double kPays = 0.9;
  static constexpr int64_t kShortNs = 50'000;
  static constexpr int kMisses = 2;
  /// So many long stretches in a row go before one with a helper: the first of a kind takes longer
  /// than the others. Where the helper does not pay, the next try takes twice as many.
  static constexpr int kPatience = 2, kMost = 64;
  /// After so many stretches with a helper, one goes alone: the operations may be others by now.
  static constexpr int kTrust = 64;

  static constexpr double kNone = std::numeric_limits<double>::infinity();

  /// By the time when its last operation ended.
  bool is_whole(int64_t ended) const {
    return ended - began_.load(std::memory_order_relaxed) >= kWholeNs;
  }
  bool has_helpers() const { return alone_.load(std::memory_order_relaxed) > 0; }

  void end(int64_t now) {
    const int64_t began = began_.exchange(0, std::memory_order_relaxed);
    const double cost = cost_.exchange(0, std::memory_order_relaxed);
    if (began == 0 || cost <= 0) return;  // another thread ends it, too
    const int64_t ns = now - began;
    const double each = static_cast<double>(ns) / cost;
    if (has_helpers()) {
      end_with_helpers(ns, each);
    } else {
      end_alone(ns, each);
    }
  }

  void end_with_helpers(int64_t ns, double each) {
    const int helped = helped_.load(std::memory_order_relaxed) + 1;
    const bool is_awake = helped > 1;  // in the first one it still wakes
    const bool pays =
        !is_awake || (ns >= kShortNs && each < kPays * alone_.load(std::memory_order_relaxed));
    const int misses = pays ? 0 : misses_.load(std::memory_order_relaxed) + 1;
    const int patience = patience_.load(std::memory_order_relaxed);
    if (misses < kMisses && helped < kTrust) {
      if (is_awake && pays) {
        patience_.store(std::max(patience / 2, kPatience), std::memory_order_relaxed);
      }
      helped_.store(helped, std::memory_order_relaxed);
      misses_.store(misses, std::memory_order_relaxed);
      return;
    }
    const bool goes_on = misses < kMisses;
    if (!goes_on) patience_.store(std::min(2 * patience, kMost), std::memory_order_relaxed);
    long_ones_.store(goes_on ? patience - 1 : 0, std::memory_order_relaxed);
    least_.store(kNone, std::memory_order_relaxed);
    alone_.store(0, std::memory_order_relaxed);
    lets_go_.store(true, std::memory_order_relaxed);
  }

  void end_alone(int64_t ns, double each) {
    const bool is_long = ns >= kLongNs;
    const int long_ones = is_long ? long_ones_.load(std::memory_order_relaxed) + 1 : 0;
    const double least = is_long ? std::min(each, least_.load(std::memory_order_relaxed)) : kNone;
    const bool is_time = long_ones >= patience_.load(std::memory_order_relaxed);
    long_ones_.store(is_time ? 0 : long_ones, std::memory_order_relaxed);
    least_.store(is_time ? kNone : least, std::memory_order_relaxed);
    if (!is_time) return;
    helped_.store(0, std::memory_order_relaxed);
    misses_.store(0, std::memory_order_relaxed);
    alone_.store(least, std::memory_order_relaxed);
  }

  std::atomic<int64_t> began_{0};     // this stretch; 0: none
  std::atomic<double> cost_{0};       // of its operations that a helper could share
  std::atomic<bool> lets_go_{false};  // helpers are awake that are not to help now
  std::atomic<double> alone_{0};      // ns of an addition without a helper; 0: none is woken
  std::atomic<double> least_{kNone};  // the same, of the long ones in a row
  std::atomic<int> long_ones_{0};     // in a row, without a helper
  std::atomic<int> helped_{0};        // in a row, with one
  std::atomic<int> misses_{0};        // in a row, with one that did not pay
  std::atomic<int> patience_{kPatience};
};

}  // namespace ofl::vm
