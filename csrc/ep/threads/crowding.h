// Crowding: whether threads that are woken to help get a core when they need it.
//
// A thread that has taken a piece of work and then loses its core to another process holds up every
// thread that waits for the piece, for milliseconds. Nothing takes a piece back. So where threads
// come late, work stays with the thread that issues it, and is shared again after a while:
//
//   late ─► alone for 4 ms ─► shared; late ─► alone for 8 ms ─► ... ─► alone for 256 ms at most
//                             shared, in time for as long as it was alone ─► half as long
#pragma once

#include <atomic>
#include <cstdint>

namespace ofl::ep {

/// Any thread. Times are those of the steady clock, in nanoseconds. All atomics are relaxed: they
/// hold a guess about the future, on which no result depends. Two notes at the same time may count
/// as one.
class Crowding {
 public:
  static constexpr int64_t kShortestNs = 4'000'000;
  static constexpr int64_t kLongestNs = 256'000'000;
  /// A thread that is woken runs after about 50 us, on a guest after up to 200.
  static constexpr int64_t kLateNs = 500'000;

  /// A thread was kept from work that it had taken, or that it was woken for.
  void note_late(int64_t now);
  /// Work was shared, and no thread was late.
  void note_in_time(int64_t now);
  /// It is `taken` ns since a thread was called, and only now it runs. `is_replaced`: a thread of
  /// this process may have kept it from its core, for less than a time slice.
  void note_wake(int64_t taken, int64_t now, bool is_replaced = false) {
    if (taken > (is_replaced ? kShortestNs : kLateNs)) note_late(now);
  }

  /// Whether anything is noted. Where not, it is never crowded.
  void set_watched(bool watched);
  bool is_watched() const { return watched_.load(std::memory_order_relaxed); }

  /// Work is better kept with the thread that has it. Without a reading of the clock where no
  /// thread has been late for long.
  bool is_crowded() const;
  bool is_crowded(int64_t now) const { return now < until_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> watched_{true};
  std::atomic<int64_t> until_{0};   // work stays alone
  std::atomic<int64_t> length_{0};  // of the time until then; 0: nobody is late
};

/// A stretch of work of one thread, which makes and uses it.
class Stretch {
 public:
  Stretch() { begin(); }
  /// A new one begins now.
  void begin();
  /// The thread was asleep for so long, as it wanted.
  void note_sleep(int64_t ns) { slept_ += ns; }
  /// The thread lost its core for more than kLateNs, and for an eighth of the stretch. Takes about
  /// 0.5 us.
  bool is_disturbed() const;

 private:
  int64_t begin_, computed_, slept_;  // wall clock, time on a core, and asleep
};

}  // namespace ofl::ep
