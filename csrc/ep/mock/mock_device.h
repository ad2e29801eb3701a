// mock:N, a device that is not there: own memory space, real queues (a thread each), events, stream
// waits, pinned staging, peer copies, and knobs. Runs host kernels. The template for a new backend.
#pragma once

#include <memory>

#include "ep/device.h"

namespace ofl::ep {

std::unique_ptr<Device> make_mock_device(int index);

}  // namespace ofl::ep
