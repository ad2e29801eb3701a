// Which operations of a group happen before another one of it, by paths of edges.
//
// Closure by bit sets, for 512 operations at a time: a sweep over the program gives each operation
// the set of those that happen before it. It ends at the last operation that a group of these 512
// asks about. So memory is 64 bytes an operation; time is at most
// (operations + edges + members) * operations / 64 steps, and linear where groups are close.
#pragma once

#include "graph/order/rows.h"

namespace ofl::graph {

/// Of each group (sorted, each operation once) the members that do not happen before another one.
/// `predecessors` has a row for each operation, of operations before it.
Rows maximal(const Rows& predecessors, const Rows& groups);

}  // namespace ofl::graph
