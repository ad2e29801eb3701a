// Whether a loop of our own has the bits of another loop: the check before it is used.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/elementwise/float_functions/float_functions.h"

namespace ofl::ops {

/// Those of a function of two are pairs.
template <typename T>
struct CheckInputs {
  std::vector<T> first, second;  // the second are none of a function of one
  int64_t count() const { return static_cast<int64_t>(first.size()); }
};

/// Inputs at which loops of the function may differ: both sides of each threshold, of each row of a
/// table and of each tie of a rounding, numbers in each piece between, and of doubles some that
/// tell which operations are fused; of both signs. T: float or double, with has_own_loop().
template <typename T>
CheckInputs<T> check_inputs(FloatFunction function);

/// The same of pow (pair_inputs.cpp).
template <typename T>
CheckInputs<T> check_pairs();

/// At how many of these inputs the results differ, in any bit, also of a NaN. Some of them are
/// computed by the reference in gaps of memory, too, or with one second input for many first ones:
/// there it may run other code.
template <typename T>
int64_t count_differences(const CheckInputs<T>& inputs, CalledLoop reference, CalledLoop own);

}  // namespace ofl::ops
