// Operations whose bfloat16 result is not that of float32, rounded: neighbours of a number. Values
// are those of ml_dtypes.
#pragma once

#include "ops/op_def.h"

namespace ofl::ops {

/// Loops (LoopFn) that take and give bfloat16: numpy.spacing and numpy.nextafter.
void spacing_loop(char** args, const intptr_t* dims, const intptr_t* steps, void*);
void next_after_loop(char** args, const intptr_t* dims, const intptr_t* steps, void*);

}  // namespace ofl::ops
