// Facts of elementwise kernels for fusion and foresight.
#pragma once

#include "ops/cuda/programs.h"
#include "ops/kernel.h"

namespace ofl::ops::cuda {

/// The kind, the row and the dtypes of its request.
KernelRequest elementwise_request(const KernelArgs& args);

/// Has the image of the call's kernel made in the background; see foresight.h.
void foresee_elementwise(ep::Device& device, const KernelArgs& args);

}  // namespace ofl::ops::cuda
