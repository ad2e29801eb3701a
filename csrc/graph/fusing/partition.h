// TVM's partition of a program into groups that are computed together, exactly.
//
//   forward graph, kinds on its edges ──► tree of post-dominators ──► phases ──► groups
#pragma once

#include "graph/order/rows.h"
#include "ops/pattern.h"

namespace ofl::graph {

using ops::Pattern;

/// A value goes from one operation to another, which uses it in this way.
struct Use {
  int64_t before, after;
  Pattern kind;
};

/// The tree of post-dominators: each operation below the nearest one that all paths from it to
/// results go through.
struct PostDominators {
  Integers parents;            // -1: none
  std::vector<Pattern> kinds;  // the largest of the edges and operations on the way to the parent
};

/// `results`: operations whose values are results; they have no parent. Linear but for the steps up
/// the tree. Error(index) for operations that are not there, Error(value) for a use that does not
/// follow the order of the program.
PostDominators post_dominators(int64_t operations, const std::vector<Use>& uses,
                               const Integers& results);

/// The group of each operation, by its last operation, the sink. `kinds` are those of operations; a
/// group of more than `max_depth` operations is not made.
Integers partition(const std::vector<Pattern>& kinds, const std::vector<Use>& uses,
                   const Integers& results, int64_t max_depth);

}  // namespace ofl::graph
