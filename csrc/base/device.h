// Device: a value, type and index. What a device can do lives in ep::Device.
#pragma once

#include <cstdint>
#include <string>

namespace ofl {

enum class DeviceType : uint8_t { cpu, mock, cuda };

struct DeviceTypeInfo {
  const char* name;
};

inline constexpr DeviceTypeInfo kDeviceTypes[] = {{"cpu"}, {"mock"}, {"cuda"}};
inline constexpr int kDeviceTypeCount = sizeof(kDeviceTypes) / sizeof(kDeviceTypes[0]);

struct Device {
  DeviceType type = DeviceType::cpu;
  int16_t index = 0;

  bool operator==(const Device& other) const { return type == other.type && index == other.index; }
  bool operator!=(const Device& other) const { return !(*this == other); }

  /// "cpu", "mock:1", "cuda:0".
  std::string str() const {
    std::string name = kDeviceTypes[static_cast<int>(type)].name;
    return type == DeviceType::cpu ? name : name + ":" + std::to_string(index);
  }
};

}  // namespace ofl
