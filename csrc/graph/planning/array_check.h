// What the kernels of arrays take. Calls of programs are read from text, so each is looked at
// before it is made again.
#pragma once

#include "tensor/plan.h"

namespace ofl {

/// Error(value) unless the operands, the attributes and the loop are such that the kernel stays in
/// their memory, whatever the elements are. Kernels that take positions in range trust these.
void check_arrays(const ArrayPlan& plan);

}  // namespace ofl
