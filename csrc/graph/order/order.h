// What starts after an operation, on which thread; in which order ready operations start; and which
// uses of a value are its last ones.
#pragma once

#include "graph/order/rows.h"

namespace ofl::graph {

/// The successors of each operation, by the thread that starts them.
struct Successors {
  Rows kept;   // by the thread that ran the operation
  Rows given;  // by other threads
};

/// An operation of a device keeps successors of devices, one of the host keeps those of the host.
/// `hosts` says of each operation whether it is of the host.
Successors successors_by_thread(const Integers& hosts, const Edges& edges);

/// The users of each value that do not happen before another user of it: those that count when the
/// value is released. Cost: as that of maximal().
Rows last_users(int64_t operations, const Edges& edges, const Rows& users);

/// The operations in the order in which they start: of those whose predecessors all have started,
/// the one of the smallest (priority, number) is next. Error(value) for edges in a cycle.
Integers order_by_priority(const Integers& priorities, const Edges& edges);

}  // namespace ofl::graph
