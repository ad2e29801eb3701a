// What fusion wants to know of elementwise kernels.
#pragma once

#include "ops/device/programs.h"
#include "ops/kernel.h"

namespace ofl::ops::device {

/// There may be a kernel of the device's own for an elementwise call.
bool has_kernel(const KernelArgs& args);

/// The kind, the row and the dtypes of its request.
KernelRequest elementwise_request(const KernelArgs& args);

}  // namespace ofl::ops::device
