#include "base/device.h"

namespace ofl {

const char* device_type_names[kMaxDeviceTypes] = {};

}  // namespace ofl
