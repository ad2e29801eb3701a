// Temporaries that several lanes use share a memory where the order of the program allows it: each
// use of the one comes before the first use of the other by data and by the order of lanes. So no
// wait is added.
#pragma once

#include "graph/planning/unit_order.h"

namespace ofl::graph {

/// Of each base, the base whose memory it has: its own, or that of an earlier base of its device.
/// `may_share`: of each base, whether it may have the memory of another one, or give its own.
Integers share_across_lanes(const Lowered& lowered, const std::vector<Unit>& units,
                            const UnitOrder& order, const std::vector<bool>& may_share);

}  // namespace ofl::graph
