// A step of a program as eager issues it: an instruction by itself, or work done at once.
#pragma once

#include "graph/planning/lowered.h"

namespace ofl::graph {

/// `operands`: those of the step, with storages; of a scalar, anything. `turn`: that of the last
/// host function of the run; then that of this one.
void issue_step(const Issuer& issuer, const Step& step, const Tensor* operands,
                const RunNumbers& numbers, Turn* turn);

}  // namespace ofl::graph
