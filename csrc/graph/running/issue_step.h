// A step of a program as eager issues it: an instruction by itself, or work done at once.
#pragma once

#include "graph/running/lowered.h"

namespace ofl::graph {

/// `operands`: those of the step, with storages; of a scalar, anything. `scalars`: the run's.
void issue_step(const Issuer& issuer, const Step& step, const Tensor* operands,
                const Scalar* scalars);

}  // namespace ofl::graph
