// mock:N, a device that is not there: own memory space, real queues (a thread each), events, stream
// waits, pinned staging, peer copies, and knobs. Runs host kernels. The template for a new backend.
#pragma once

#include "ep/registry.h"

namespace ofl::ep {

Backend mock_backend();

}  // namespace ofl::ep
