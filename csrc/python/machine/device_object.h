// The Python class Device.
#pragma once

#include <optional>

#include "base/device.h"
#include "python/numpy_api.h"

namespace ofl::python {

/// "cpu", "mock:1", "cuda" (that of the calling rank); Error(value) lists the valid forms.
Device parse_device(const std::string& text);
/// Of a Device, subclasses included.
std::optional<Device> device_or_none(PyObject* object);
/// A new reference to the one object that tensors and functions name this device by.
PyObject* device_object(Device device);

}  // namespace ofl::python
