// The host as a device: launch() runs in the calling thread, events are always done.
#pragma once

#include "ep/registry.h"

namespace ofl::ep {

Backend cpu_backend();

}  // namespace ofl::ep
