#include "vm/small_work/small_work.h"

#include <algorithm>

#include "ep/threads/crowding.h"

namespace ofl::vm {

namespace {

/// Of Options::inline_cost: about 100 us as estimated. The products of a training step for 512
/// images take 80 us; handed over, the step took 1.2 times as long.
constexpr double kAlonePart = 2;
/// About 75 us as estimated: operations that would run as one with others stay up to this, in all.
constexpr double kJoinablePart = 1.5;
/// About 9 us as estimated. Of smaller operations, a hand-over takes most of what fusion saves.
constexpr double kJoinedPart = 0.18;
/// About 20 us as estimated: a helper that is awake shares no shorter loop.
constexpr double kSharedPart = 0.4;
/// About 300 us as estimated. A thread that waits for a worker gives up the lock of the layer above
/// (Python's), and beside another busy thread it gets it back after a switch interval of 5 ms. A
/// call that stays holds the others up for less than a tenth of that. NumPy keeps the lock, too,
/// if the sizes of a call's dimensions multiply to 500 at most: for det and cholesky, 500 rows.
constexpr double kAwaitedPart = 6;
/// The same where threads do not get a core in time: about 5 ms, a time slice of the system.
constexpr double kCrowdedPart = 100;

thread_local HostPace pace;

}  // namespace

HostPace& HostPace::of_this_thread() { return pace; }

bool SmallWork::stays_here(Work work, Company company, PacedCall& call, bool by_parts) {
  const double most = board_.options.inline_cost.load(std::memory_order_relaxed);
  ep::HelperPool* helpers = board_.helpers();
  if (helpers && helpers->crowding().is_crowded()) return work.cost <= kCrowdedPart * most;
  const bool may_join = company == Company::joinable && work.cost > kJoinedPart * most;
  if ((!may_join || !hands_over(most)) && is_small(work.cost)) {
    if (may_join) note_work(work.here);
    return true;
  }
  if (company == Company::awaited && work.cost <= kAwaitedPart * most) {
    call.note();
    return true;
  }
  const bool is_short = work.cost <= kAlonePart * most;
  const bool is_busy = is_short && call.note();
  const bool is_shareable = company != Company::alone && work.cost > kSharedPart * most;
  if (is_short && !is_busy && company != Company::joinable) {
    if (company == Company::divisible && is_shareable) note_shareable(work.cost, helpers);
    return true;
  }
  const double before = work_since_look_.load(std::memory_order_relaxed);
  const double all = before + work.here, last = last_work_.load(std::memory_order_relaxed);
  const double part = company == Company::joinable ? kJoinablePart : kAlonePart;
  const bool stays = std::max(all, last) <= part * most && (before == 0 || !is_busy);
  // The last look is to find all work counted once.
  if (stays || !by_parts) work_since_look_.store(all, std::memory_order_relaxed);
  if (stays && is_shareable) note_shareable(work.cost, helpers);
  return stays;
}

bool SmallWork::hands_over(double most) const {
  const double work = std::max(work_since_look_.load(std::memory_order_relaxed),
                               last_work_.load(std::memory_order_relaxed));
  return work > kJoinablePart * most;
}

void SmallWork::note_shareable(double cost, ep::HelperPool* helpers) {
  if (!helpers || helpers->threads() < 2) return;
  HostPace& pace = HostPace::of_this_thread();
  const StretchGuess::Advice advice =
      stretch_.note_operation(pace.began(), pace.shareable_ended(), cost);
  if (advice == StretchGuess::Advice::wake_helpers) helpers->rouse();
  if (advice == StretchGuess::Advice::wake_them_again) helpers->rouse_again();
  if (advice == StretchGuess::Advice::let_helpers_go) helpers->let_go();
  pace.note_shareable();
}

}  // namespace ofl::vm
