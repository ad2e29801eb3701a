// Boxing: the steps that give a tensor another layout.
//
// A step changes one axis of the grid, and then only ranks along that axis send each other
// something. Where no order of such steps leads there, one step is an exchange of boxes between any
// ranks (exchange.h).
#pragma once

#include <vector>

#include "distributed/layouts/layout.h"

namespace ofl::distributed {

enum class StepKind : uint8_t {
  slice,           // broadcast to split: each rank keeps a part
  reduce_scatter,  // partial to split: parts to their ranks, which add them
  move,            // split to a split of another dimension: all to all
  reduce,          // partial to broadcast
  gather,          // split to broadcast
  place,           // to partial: what one rank keeps, others fill with the neutral element
  exchange,        // pieces from rank to rank, by their boxes
};
inline constexpr const char* kStepKindNames[] = {"slice",  "reduce_scatter", "move",    "reduce",
                                                 "gather", "place",          "exchange"};

struct BoxingStep {
  StepKind kind;
  int axis;  // of the grid; -1: an exchange
  const Layout* from;
  const Layout* to;

  bool moves_nothing() const { return kind == StepKind::slice || kind == StepKind::place; }
};

/// In their order; none where the layouts are one. Error(value) for layouts of two shapes.
const std::vector<BoxingStep>& plan_boxing(const Layout& from, const Layout& to);

/// Partial values of so many bytes are added in parts, one on each of the ranks along the axis, and
/// the sums gathered; else each rank gets all values and adds them. Both give the same bits.
bool is_added_in_parts(int64_t ranks, int64_t bytes);

/// Bytes that a rank gets from others.
int64_t bytes_received(const BoxingStep& step, int32_t rank, int64_t itemsize);

}  // namespace ofl::distributed
