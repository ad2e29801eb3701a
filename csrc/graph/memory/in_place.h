// Which operations write their results over operands.
#pragma once

#include "graph/memory/reason.h"
#include "graph/memory/values.h"
#include "graph/order/lanes.h"

namespace ofl::graph {

/// An operation may write `result` over `operand`.
struct InPlacePair {
  int64_t operation, operand, result;
};

struct InPlace {
  std::vector<Reason> reasons;  // of each pair
  Integers classes;             // of the values, with results in the classes of their operands
};

/// The number of elements and the bytes of one, of each value.
struct Extents {
  Integers elements, item_sizes;
};

/// Decides each pair, in the order given: that of the program. A result lies over an operand that
/// the operation reads elementwise only, all at one place; that is a temporary of as many elements
/// of the same size; and whose memory nobody uses later, or may still be using on another lane.
InPlace in_place(const Accesses& accesses, const std::vector<InPlacePair>& pairs,
                 const Values& values, const Extents& extents, const Integers& lanes,
                 const Edges& edges);

}  // namespace ofl::graph
