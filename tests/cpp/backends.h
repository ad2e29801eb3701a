// The backends that the C++ test programs use. For one source file a program.
#pragma once

#include <memory>

#include "ep/cpu/cpu_device.h"
#include "ep/device.h"
#include "ep/mock/mock_device.h"

namespace ofl::ep {
namespace {

const DeviceType kCpuType = register_backend(cpu_backend());
const DeviceType kMockType = register_backend(mock_backend());

std::unique_ptr<Device> make(ofl::Device id) { return backend_of(id.type).make(id); }
std::unique_ptr<Device> make_cpu_device() { return make({kCpuType, 0}); }
std::unique_ptr<Device> make_mock_device(int index) {
  return make({kMockType, static_cast<int16_t>(index)});
}

}  // namespace
}  // namespace ofl::ep
