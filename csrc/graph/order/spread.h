// Operations divided between the compute lanes of their devices, so that those that do not need
// each other run at the same time:
//
//   lane 0   a ──► b ─────────► e       c begins earlier on lane 1, though its wait takes time;
//            └─wait─┐           ▲       d stays with c
//   lane 1          c ──► d ─wait┘
#pragma once

#include "graph/order/rows.h"

namespace ofl::graph {

inline constexpr int64_t kNoLane = -1;  // in the place of a device: the operation has no lanes

/// The lane of each operation among the `most` of its device, or kNoLane: in the order of the
/// program each goes where it ends first. There it begins when the lane is free and what it needs
/// is over; what was on another lane is over by `wait` later, and all lanes but the first begin by
/// as much later. Of equal lanes it takes that of what it needs last. Costs and the wait are times.
/// Time: linear.
Integers spread(const Integers& costs, const Integers& devices, const Edges& edges, int64_t most,
                int64_t wait);

}  // namespace ofl::graph
