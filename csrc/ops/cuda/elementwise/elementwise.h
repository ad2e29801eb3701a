// Facts of elementwise kernels for fusion.
#pragma once

#include "ops/cuda/programs.h"
#include "ops/loop_args.h"

namespace ofl::ops::cuda {

/// The kind, the row and the dtypes of its request.
KernelRequest elementwise_request(const LoopArgs& args);

}  // namespace ofl::ops::cuda
