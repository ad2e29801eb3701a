// Special values of the array API standard where NumPy has others: floor division by or of
// infinities, expm1 and tanh of complex infinities and NaNs.
#pragma once

#include "ops/op_def.h"

namespace ofl::ops {

/// Loops that put the standard's values into what the loop of their data, a Resolution, makes of
/// special operands; by the dtype of the result. Null where NumPy has the same values.
LoopFn standard_floor_divide(DType result);
LoopFn standard_expm1(DType result);
LoopFn standard_tanh(DType result);

/// Lets the resolution run such a loop, where one is known. It lives as long as the process.
void use_standard_values(const KnownLoops& known, Resolution* resolution);

}  // namespace ofl::ops
