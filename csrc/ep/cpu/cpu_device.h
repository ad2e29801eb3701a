// The host as a device: launch() runs in the calling thread, events are always done.
#pragma once

#include <memory>

#include "ep/device.h"

namespace ofl::ep {

std::unique_ptr<Device> make_cpu_device();

}  // namespace ofl::ep
