// Operations whose bfloat16 result is not that of float32, rounded: neighbours of a number.
#pragma once

#include <string>

#include "ops/op_def.h"

namespace ofl::ops {

/// The loop of this ufunc that takes and gives bfloat16, with the values of ml_dtypes; nullptr: it
/// is computed in float32.
LoopFn bfloat16_loop(const std::string& ufunc);

}  // namespace ofl::ops
