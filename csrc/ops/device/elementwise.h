// What fusion wants to know of elementwise kernels.
#pragma once

#include "ops/device/programs.h"
#include "ops/kernel.h"

namespace ofl::ops::device {

/// The kind, the row and the dtypes of its request.
KernelRequest elementwise_request(const KernelArgs& args);

}  // namespace ofl::ops::device
