// What a loop costs on this machine. It differs by a hundred between loops, and by ten between
// dtypes and processors, and decides whether a call is worth a thread's while.
#pragma once

#include "base/cost.h"
#include "ops/op_def.h"

namespace ofl::ops {

/// Runs the loop on some elements in the cache, which are all `sample` (integers: 1); the cost of
/// one, in float32 additions. Takes some microseconds, once for each loop.
double measure_cost(const Resolution& resolution, int inputs, double sample);

/// The cost is that of memory, not of the loop. Where the operands are in a cache, it takes less.
bool is_memory_bound(const Resolution& resolution, int inputs);

}  // namespace ofl::ops
