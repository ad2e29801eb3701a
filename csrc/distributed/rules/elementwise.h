// How elementwise operations treat layouts: one rule for each axis of the grid.
#pragma once

#include <vector>

#include "distributed/layouts/layout.h"
#include "ops/op_def.h"

namespace ofl::distributed {

/// The layouts that an operation takes its operands in, and that of its result.
struct Inferred {
  const Layout* result;
  std::vector<const Layout*> operands;  // null: it has none, as a number
};

/// `operands` are of one placement, and null for numbers; at least one has a layout. Along an axis
/// of the grid the first of these holds:
///
///   partial sums stay partial where the operation is linear in them (`linear`)
///   the largest operand that is split along a dimension of its full extent decides: the result and
///     all others that have this extent are split so
///   all operands and the result are broadcast
///
/// Error(value) for operands that do not broadcast.
const Inferred& infer_elementwise(ops::Linear linear, const std::vector<const Layout*>& operands,
                                  const char* name);

}  // namespace ofl::distributed
