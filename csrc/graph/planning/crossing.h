// Temporaries that several lanes use share a memory where the order of the program allows it: each
// use of the one comes before the first use of the other by data and by the order of lanes. So no
// wait is added.
#pragma once

#include "graph/planning/unit_order.h"

namespace ofl::graph {

/// Of each base, the one in whose memory it lies: itself, or one that was there before, on its
/// device. `may_share`: of each base.
Integers share_across_lanes(const Lowered& lowered, const std::vector<Unit>& units,
                            const UnitOrder& order, const std::vector<bool>& may_share);

}  // namespace ofl::graph
