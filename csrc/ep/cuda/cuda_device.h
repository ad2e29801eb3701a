// cuda: NVIDIA GPUs, by the driver's interface alone. One primary context a device, retained when
// the device is made, that is when a tensor first names it.
#pragma once

#include <string>

#include "ep/registry.h"

namespace ofl::ep {

Backend cuda_backend();
/// That of its devices, once the row is registered.
DeviceType cuda_type();

/// What is wrong when there is none, and what to do; "" otherwise.
std::string cuda_problem();

struct CudaProperties {
  std::string name;
  size_t total_memory = 0;
  int major = 0, minor = 0;
  int multiprocessors = 0, threads_per_multiprocessor = 0;
  int l2_cache_bytes = 0, memory_bus_bits = 0;
  int memory_clock_khz = 0, clock_khz = 0;
};
/// Makes no context. Error(runtime) where there is no driver, Error(value) for another index.
CudaProperties cuda_properties(int index);

}  // namespace ofl::ep
