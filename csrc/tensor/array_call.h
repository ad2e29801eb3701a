// Issues array kernels (ops/array_kernel.h) on tensors.
#pragma once

#include "ops/array_kernel.h"
#include "tensor/issue.h"

namespace ofl {

struct ArrayRequest {
  const char* name;  // of the operation, in errors and traces; outlives the machine
  const ops::ArrayKernel* kernel;
  SmallVector<const Tensor*, 4> inputs;   // all tensors outlive the call
  SmallVector<const Tensor*, 4> outputs;  // at least one; new, or with elements that are written
  SmallVector<int64_t, 8> attr;
  ops::Loop loop;
  double elements = -1;   // that the cost is of; negative: those of the largest operand
  bool in_place = false;  // the outputs exist: no memory is allocated for them
};

/// All operands lie on one device (checked). Outputs share no storage with inputs unless the kernel
/// allows it.
void submit_array_kernel(const Issuer& issuer, const ArrayRequest& request);

}  // namespace ofl
