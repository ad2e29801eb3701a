// Device: a value, type and index. What a device can do lives in ep::Device.
#pragma once

#include <cstdint>
#include <string>

namespace ofl {

/// The place of a backend in the registry, ep/registry.h. The host has the first one.
enum class DeviceType : uint8_t { cpu };
inline constexpr int kMaxDeviceTypes = 8;

/// By type. The registry writes a name before it gives the type to anybody.
[[gnu::visibility("default")]] extern const char* device_type_names[kMaxDeviceTypes];

struct Device {
  DeviceType type = DeviceType::cpu;
  int16_t index = 0;

  bool operator==(const Device& other) const { return type == other.type && index == other.index; }
  bool operator!=(const Device& other) const { return !(*this == other); }

  /// "cpu", "mock:1".
  std::string str() const {
    std::string name = device_type_names[static_cast<int>(type)];
    return type == DeviceType::cpu ? name : name + ":" + std::to_string(index);
  }
};

}  // namespace ofl
