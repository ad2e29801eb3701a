// Checks of calls of array kernels, before a program makes them again: its text may say anything.
#pragma once

#include "tensor/plan.h"

namespace ofl {

/// Error(value) unless the operands, the attributes and the loop are such that the kernel stays in
/// their memory, whatever the elements are. Kernels that take positions in range trust these.
void check_arrays(const ArrayPlan& plan);

}  // namespace ofl
