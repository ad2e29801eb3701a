// The end of the process, as the machine sees it.
#pragma once

#include "vm/devices/device_table.h"
#include "vm/waiting/waiting.h"

namespace ofl::vm {

/// Waits for everything in flight and ends the workers. From then on the machine is naive, also if
/// the wait was interrupted: then the workers go on, and Error(interrupted) is thrown.
void shut_down(DeviceTable& devices, Waiting& waiting);

}  // namespace ofl::vm
