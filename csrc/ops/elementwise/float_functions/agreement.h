// Whether a loop of our own has the bits of another loop: the check before it is used.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/elementwise/float_functions/float_functions.h"

namespace ofl::ops {

/// Inputs at which loops of the function may differ: both sides of each threshold, of each row of a
/// table and of each tie of a rounding, 512 numbers in each piece between, and of doubles some
/// that tell which operations are fused; of both signs. T: float, or double, with exp and log.
template <typename T>
std::vector<T> check_points(FloatFunction function);

/// At how many of these inputs the results differ, in any bit, also of a NaN. Some of them are
/// computed by the reference in gaps of memory, too: there it may run other code.
template <typename T>
int64_t count_differences(const std::vector<T>& inputs, CalledLoop reference, CalledLoop own);

}  // namespace ofl::ops
