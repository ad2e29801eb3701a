// cuda: NVIDIA GPUs, by the driver's interface alone. One primary context a device, retained when
// the device is made, that is when a tensor first names it.
#pragma once

#include <memory>

#include "ep/device.h"

namespace ofl::ep {

/// How many there are; 0 where there is no driver. Makes no context.
int cuda_device_count();
/// What is wrong when there is none, and what to do; "" otherwise.
std::string cuda_problem();

std::unique_ptr<Device> make_cuda_device(int index);

}  // namespace ofl::ep
