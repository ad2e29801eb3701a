// SmallWork: whether the thread that issues some work does it itself, at once. All of it is guessed
// from the past; no result depends on it.
#pragma once

#include <atomic>

#include "base/cost.h"
#include "vm/board/board.h"
#include "vm/small_work/host_pace.h"
#include "vm/small_work/look_guess.h"
#include "vm/small_work/stretch_guess.h"

namespace ofl::vm {

/// Whether an operation may run as one with others. A divisible one does not, but a helper that is
/// awake shares it. Nor does an awaited one, and its result is, as a rule, looked at before the
/// thread has other work.
enum class Company : uint8_t { joinable, divisible, alone, awaited };

/// Estimates for some work, in float32 additions.
struct Work {
  Work(double cost) : cost(cost), here(cost) {}
  Work(double cost, double here) : cost(cost), here(here) {}

  double cost;  // with operands that come from memory
  double here;  // with operands where they are likely to be
};

/// Any thread. Costs are in float32 additions.
class SmallWork {
 public:
  explicit SmallWork(const Board& board) : board_(board) {}

  /// Whether work of this cost takes less time than to hand it over.
  bool is_tiny(double cost) const {
    return cost <= kTinyPart * board_.options.inline_cost.load(std::memory_order_relaxed);
  }
  /// Whether it takes hardly longer.
  bool is_small(double cost) const {
    if (is_tiny(cost)) return true;  // the common ones: as soon as possible
    if (cost > kSmallPart * board_.options.inline_cost.load(std::memory_order_relaxed))
      return false;
    HostPace::of_this_thread().note_small(cost * kAdditionNs);
    return true;
  }
  /// Whether larger work is better done at once by the thread that issues it, too. `call` ends when
  /// the work is done or issued.
  ///   - Where threads do not get a core in time, most work stays.
  ///   - Small work stays, unless it may run as one with what is handed over.
  ///   - An operation that does not run as one with others stays up to twice `inline_cost`, unless
  ///     the thread is busy with code of its own. Handed over, it would only make everything that
  ///     needs its result wait in a queue. An awaited one always stays up to six times.
  ///   - Up to twice `inline_cost` in all, operations stay if a result is likely to be looked at
  ///     before there is more work.
  /// In a long stretch of operations that stay, and that a helper could share, one is woken.
  /// `by_parts`: where it does not stay, its parts are asked for.
  bool stays_here(Work work, Company company, PacedCall& call, bool by_parts = false);
  /// A thread looks at a result. It is likely to look again after as much work as now.
  void note_look() {
    looks_.note_look();
    if (stretch_.has_begun()) stretch_.note_look(now_ns());
    const double work = work_since_look_.load(std::memory_order_relaxed);
    if (work == 0) return;
    last_work_.store(work, std::memory_order_relaxed);
    work_since_look_.store(0, std::memory_order_relaxed);
  }

  /// Work of a host's device goes to a worker.
  void note_handed_over() {
    if (stretch_.has_begun()) {
      stretch_.note_handed_over(HostPace::of_this_thread().shareable_ended());
    }
  }

  LookGuess& looks() { return looks_; }

 private:
  /// Of Options::inline_cost: 15 us as estimated, which is up to four times the time in the cache.
  /// With a third of it, chains of 30 000 elements took longer because of the hand-over.
  static constexpr double kSmallPart = 0.3;
  static constexpr double kTinyPart = 0.01;

  void note_work(double work) {
    const double before = work_since_look_.load(std::memory_order_relaxed);
    work_since_look_.store(before + work, std::memory_order_relaxed);
  }
  /// Operations that may run as one with others are handed over, as things are.
  bool hands_over(double most) const;
  /// `cost`: of an operation that is to stay, and that a helper could share.
  void note_shareable(double cost, ep::HelperPool* helpers);

  const Board& board_;
  // Guesses: threads that issue at the same time spoil each other's.
  std::atomic<double> work_since_look_{0};  // done or handed over; little of what is small
  std::atomic<double> last_work_{0};        // between the last two looks, where there was any
  LookGuess looks_;
  StretchGuess stretch_;
};

}  // namespace ofl::vm
