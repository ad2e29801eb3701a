// The registry of backends: what is known of a type of devices before there is one. Each backend
// has one row, written in its own folder. python/machine/backends.cpp lists the built-in ones and
// takes others at run time; these are linked with the extension, which exports what they need.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/device.h"

namespace ofl::ep {

class Device;

struct Backend {
  /// Raise it with each change of this struct or of ep/device.h. A row of another version is
  /// refused.
  static constexpr uint32_t kVersion = 2;
  uint32_t version = kVersion;

  DeviceType type{};           // the registry sets it
  const char* name = nullptr;  // "mock", as in "mock:1"; it stays for good
  /// How many devices this process can use. Any thread.
  int (*count)() = nullptr;
  /// A device whose index is below the count. Throws Error.
  std::unique_ptr<Device> (*make)(ofl::Device id) = nullptr;

  /// The end of the error for a device that does not exist. Null: it has none.
  std::string (*hint)() = nullptr;
  /// Index of the device whose memory this is, or -1. Null: addresses do not tell. Any thread.
  int (*owner)(const void* ptr) = nullptr;
  /// Called once at the end of the process, after all work. Throws nothing. Null: nothing to do.
  void (*leave)() = nullptr;

  /// DLPack's number for its memory, and for other memory that is taken in as its own. 12 is the
  /// number of all devices that DLPack does not know.
  int32_t dlpack_type = 12, dlpack_also = 12;
  bool has_interop = false;       // Device::interop() is not null; `owner` is needed
  bool runs_host_kernels = true;  // Device::runs_host_kernels()
  bool stages_pageable = false;   // Device::stages_pageable()
};

/// Enters a copy of the row, whose place is the type of its devices; the host comes first. The rows
/// stay. Error(value) for another version, a name that cannot be used, and beyond kMaxDeviceTypes.
/// Any thread.
DeviceType register_backend(const Backend& row);

struct BackendRange {
  const Backend *first, *last;
  const Backend* begin() const { return first; }
  const Backend* end() const { return last; }
};
/// Those registered so far.
BackendRange backends();
const Backend& backend_of(DeviceType type);
/// Null: there is none of this name.
const Backend* find_backend(const std::string& name);

/// Addresses of the host have no bit beyond these. Others may say whose memory it is.
inline constexpr int kHostAddressBits = 56;
/// The device whose memory this is, where the address tells.
std::optional<ofl::Device> owner_of(const void* ptr);

}  // namespace ofl::ep
