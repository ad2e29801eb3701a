// An order of operations in which less is alive at one time than in the order of the program.
//
//   program   a ─► big b ─► small sum of b    b is alive beside all that comes between
//             a ─► big c ─► ...
//   by memory a, b, sum of b, c, ...          what ends the life of bytes comes as soon as it may
#pragma once

#include "graph/order/rows.h"

namespace ofl::graph {

/// The operations, a permutation that the edges allow. Of those that may come next, the one that
/// leaves the fewest bytes alive is next; of equals, the first in the program. `users` of a class
/// of values: the first one makes it, the last to come ends its life, unless it is in `results`.
/// Time: n log n. Error(index), Error(value) as for edges and class numbers that cannot be.
Integers order_by_memory(int64_t operations, const Integers& sizes, const Rows& users,
                         const Integers& results, const Edges& edges);

}  // namespace ofl::graph
