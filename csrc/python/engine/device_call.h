// Functions on the stream of a device: what they are called with there.
//
// Where the device's queues run host kernels, the function is one: it is called when its queue has
// run dry, with addresses of the host. Elsewhere it enqueues what it has to do.
#pragma once

#include "python/engine/function.h"
#include "python/errors.h"

namespace ofl::python {

/// With the GIL, without the baton: (device, queue or 0, how many are read, memory of each tensor).
Reference device_arguments(const Function& function, vm::Stream& stream);

/// Calls a CFunction, on a device with the queue as its last argument.
void call_native(const Function& function, vm::Stream& stream);

void launch_kernel(const KernelCall& kernel, ep::Stream& queue);

/// Before a function is called on a stream. While the result lives, the device is the current one
/// of the calling thread for other libraries.
std::shared_ptr<void> enter(vm::Stream& stream);

}  // namespace ofl::python
