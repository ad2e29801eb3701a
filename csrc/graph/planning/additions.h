// Products that add into accumulators: graph/memory/assigns.h decides, here the steps are changed.
//
//   part = a @ b
//   total = acc + part   ──►   acc += a @ b      total is in the memory of acc; the sum is gone
#pragma once

#include "graph/planning/lowered.h"

namespace ofl::graph {

/// Notes each sum with a product in it. Results differ from those of product and sum in the last
/// bits: the product is not rounded before it is added.
void add_into_accumulators(Lowered* lowered);

}  // namespace ofl::graph
