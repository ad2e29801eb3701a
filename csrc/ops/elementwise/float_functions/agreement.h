// Whether a loop of our own has the bits of another loop: the check before it is used.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/op_def.h"

namespace ofl::ops {

/// A loop and what it is called with.
struct CalledLoop {
  LoopFn loop;
  void* data;
};

/// Inputs at which loops of the function may differ: both sides of each threshold, of each row of a
/// table and of each tie of a rounding, and 512 numbers in each piece between; of both signs.
std::vector<float> check_points(FloatFunction function);

/// At how many of these inputs the results differ, in any bit, also of a NaN. Some of them are
/// computed by the reference in gaps of memory, too: there it may run other code.
int64_t count_differences(const std::vector<float>& inputs, CalledLoop reference, CalledLoop own);

}  // namespace ofl::ops
