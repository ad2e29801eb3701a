// NNVM's colouring: operations of one colour are a path, so they cannot run at the same time.
#pragma once

#include "graph/order/rows.h"

namespace ofl::graph {

/// The colour of each operation, below `most`. The heaviest path gets colour 0 and weighs nothing
/// afterwards, the heaviest of what is left colour 1, and so on; `most` - 1 times, or until nothing
/// weighs anything. All others get one more colour. Time: linear for each colour.
Integers colours(const Integers& weights, const Edges& edges, int64_t most);

}  // namespace ofl::graph
