// Bell: a process sleeps at its bell until another one brings what it waits for, and rings. In
// memory that the processes share.
//
//   the one that sleeps:  says so ──► looks: nothing ──► sleeps       each ──► is seq_cst
//   another one:          brings it ──► has anybody said so? ──► rings
//
// Why nobody sleeps through it: all four steps have one order. If the look finds nothing, it is
// before what is brought. So what was said before the look is there when the other one asks. And
// the system lets nobody sleep once the word is not what it was.
#pragma once

#include <atomic>
#include <cstdint>

namespace ofl::ep::mpi {

/// All of its bytes are zero at first.
class Bell {
 public:
  /// Whether this system has a way to sleep at one.
  static bool is_there();

  /// Sleeps until it is rung, or for so long, unless has_come(), which looks by seq_cst operations.
  /// Others bring by such operations, too. One thread at a time.
  template <typename Look>
  void await(int64_t ns, const Look& has_come) {
    sleeps_.store(1, std::memory_order_seq_cst);
    if (!has_come()) sleep(ns);
    sleeps_.store(0, std::memory_order_relaxed);
  }
  /// Wakes the one that sleeps, after something was brought. Any thread of any process.
  void ring() {
    if (sleeps_.load(std::memory_order_seq_cst)) wake();
  }

 private:
  void sleep(int64_t ns);
  void wake();

  std::atomic<uint32_t> sleeps_;  // a process does, or is about to
};

}  // namespace ofl::ep::mpi
