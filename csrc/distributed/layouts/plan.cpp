#include "distributed/layouts/plan.h"

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/error.h"
#include "distributed/layouts/exchange.h"

namespace ofl::distributed {

namespace {

/// Up to here partial values are sent to all ranks; larger ones are scattered, and the sums
/// gathered. Few ranks send larger ones, too, as long as each gets no more than this: it takes them
/// no longer than a second collective.
constexpr int64_t kSmallReduction = 16 << 10, kFewBytes = 192 << 10;

using Steps = std::vector<BoxingStep>;

StepKind kind_of(const Sbp& from, const Sbp& to) {
  if (to.is_partial()) return StepKind::place;
  const bool is_split = to.share == Share::split;
  if (from.is_partial()) return is_split ? StepKind::reduce_scatter : StepKind::reduce;
  if (from.share == Share::broadcast) return StepKind::slice;
  return is_split ? StepKind::move : StepKind::gather;
}

/// A partial value is made whole before it is partial by another operator.
Sbp next_towards(const Sbp& from, const Sbp& to) {
  return from.is_partial() && to.is_partial() ? Sbp::broadcast() : to;
}

/// The ranks along this axis hold together the same as before: no later axis cuts a dimension that
/// the step cuts otherwise.
bool keeps_boxes(const Layout& from, int axis, const Sbp& next) {
  for (const Sbp& cut : {from.sbps()[axis], next}) {
    if (cut.share != Share::split) continue;
    for (int later = axis + 1; later < from.sbps().size(); ++later) {
      if (from.sbps()[later].splits(cut.dim)) return false;
    }
  }
  return true;
}

void take(Steps* steps, const Layout*& at, int axis, const Sbp& next) {
  const Layout& to = at->with(axis, next);
  steps->push_back({kind_of(at->sbps()[axis], next), axis, at, &to});
  at = &to;
}

/// An earlier axis has yet to cut a dimension that this step cuts: then that one could not keep
/// boxes.
bool blocks_earlier(const Layout& at, const Layout& to, int axis, const Sbp& next) {
  if (next.share != Share::split) return false;
  for (int earlier = 0; earlier < axis; ++earlier) {
    const Sbp &now = at.sbps()[earlier], &wanted = to.sbps()[earlier];
    if (now != wanted && (now.splits(next.dim) || wanted.splits(next.dim))) return true;
  }
  return false;
}

/// There is one operator for all axes of a layout.
bool fits_others(const Layout& at, int axis, const Sbp& next) {
  for (int other = 0; other < at.sbps().size(); ++other) {
    const Sbp& sbp = at.sbps()[other];
    if (other != axis && sbp.is_partial() && next.is_partial() && sbp != next) return false;
  }
  return true;
}

/// The next step of one axis: what shrinks comes first, gathers late. None: none keeps boxes.
std::optional<int> next_axis(const Layout& at, const Layout& to) {
  std::optional<int> best;
  StepKind best_kind = StepKind::exchange;
  for (int axis = 0; axis < to.sbps().size(); ++axis) {
    const Sbp &now = at.sbps()[axis], &wanted = to.sbps()[axis];
    if (now == wanted) continue;
    const Sbp next = next_towards(now, wanted);
    const StepKind kind = kind_of(now, next);
    if (kind >= best_kind || !keeps_boxes(at, axis, next)) continue;
    if (blocks_earlier(at, to, axis, next) || !fits_others(at, axis, next)) continue;
    best = axis;
    best_kind = kind;
  }
  return best;
}

/// By steps of one axis each; false: they do not lead there.
bool go_by_axes(const Layout& from, const Layout& to, Steps* steps) {
  const Layout* at = &from;
  while (at != &to) {
    const std::optional<int> axis = next_axis(*at, to);
    if (!axis) return false;
    take(steps, at, *axis, next_towards(at->sbps()[*axis], to.sbps()[*axis]));
  }
  return true;
}

bool is_exchangeable(const Layout& from, const Layout& to) {
  try {
    require_exchangeable(from, to);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Bytes that some ranks get from others, in all steps; the same number on each rank.
int64_t moved(const Steps& steps, const Placement& placement) {
  constexpr int64_t kSample = 4, kItem = 4;
  int64_t bytes = 0;
  for (int64_t k = 0; k < kSample; ++k) {
    const int64_t id = (k * placement.size() / kSample + k) % placement.size();
    for (const BoxingStep& step : steps) {
      bytes += bytes_received(step, placement.rank_at(id), kItem);
    }
  }
  return bytes;
}

/// Gathers along the last axis that splits: nothing later depends on it.
void gather_last(Steps* steps, const Layout*& at) {
  for (int axis = at->sbps().size() - 1; axis >= 0; --axis) {
    if (at->sbps()[axis].share != Share::split) continue;
    return take(steps, at, axis, Sbp::broadcast());
  }
}

const Layout& without_partial(const Layout& layout) {
  Sbps sbps = layout.sbps();
  for (Sbp& sbp : sbps) {
    if (sbp.is_partial()) sbp = Sbp::broadcast();
  }
  return Layout::of(layout.shape(), layout.placement(), std::move(sbps));
}

Steps plan(const Layout& from, const Layout& to) {
  if (from.shape() != to.shape()) require_exchangeable(from, to);
  Steps steps;
  const Layout* at = &from;
  if (&from.placement() != &to.placement()) {
    const Layout& there = without_partial(to);
    steps.push_back({StepKind::exchange, -1, at, &there});
    at = &there;
  }
  // By axes, unless that moves more than half as much again as all at once. Where splits of several
  // axes block each other, and it cannot be done at once: from a layout that is split along fewer.
  for (;;) {
    Steps by_axes;
    const Steps at_once = {{StepKind::exchange, -1, at, &to}};
    const bool leads_there = go_by_axes(*at, to, &by_axes);
    if (by_axes.size() != 1 && at != &to && is_exchangeable(*at, to) &&
        (!leads_there || 2 * moved(by_axes, to.placement()) > 3 * moved(at_once, to.placement()))) {
      steps.push_back(at_once.front());
      return steps;
    }
    if (leads_there) {
      steps.insert(steps.end(), by_axes.begin(), by_axes.end());
      return steps;
    }
    gather_last(&steps, at);
  }
}

}  // namespace

// Layouts stay for good, and so do the steps between two of them.
const Steps& plan_boxing(const Layout& from, const Layout& to) {
  static std::mutex mutex;  // guards the map
  static auto* const known = new std::map<std::pair<const Layout*, const Layout*>, Steps>();
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = known->find({&from, &to});
  if (found != known->end()) return found->second;
  return known->emplace(std::make_pair(&from, &to), plan(from, to)).first->second;
}

bool is_added_in_parts(int64_t ranks, int64_t bytes) {
  return ranks > 2 && bytes > kSmallReduction && bytes * (ranks - 1) > kFewBytes;
}

int64_t bytes_received(const BoxingStep& step, int32_t rank, int64_t itemsize) {
  if (step.moves_nothing()) return 0;
  const int64_t direct = bytes_received(*step.from, *step.to, rank, itemsize);
  if (step.kind != StepKind::reduce || direct == 0) return direct;
  const int64_t ranks = step.from->placement().grid()[step.axis];
  const int64_t whole = direct / (ranks - 1);
  if (!is_added_in_parts(ranks, whole)) return direct;
  return 2 * whole / ranks * (ranks - 1);
}

}  // namespace ofl::distributed
