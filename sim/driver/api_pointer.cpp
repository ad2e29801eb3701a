// What a pointer is.
#include <cstring>

#include "driver/api.h"
#include "driver/context.h"
#include "driver/memory.h"

namespace simcuda::api {
namespace {

enum PointerAttribute : int {
  kContext = 1,
  kMemoryType = 2,
  kDevicePointer = 3,
  kHostPointer = 4,
  kBufferId = 7,
  kIsManaged = 8,
  kDeviceOrdinal = 9,
  kRangeStart = 11,
  kRangeSize = 12,
  kMapped = 13,
};

template <typename T>
void put(void* target, T value) {
  std::memcpy(target, &value, sizeof value);
}

void read(const Block& block, DevicePtr pointer, int attribute, void* value) {
  switch (attribute) {
    case kContext: put(value, device_context(block.device()).handle()); return;
    case kMemoryType:
      put<unsigned>(value, block.is_on_device() ? kMemoryDevice : kMemoryHost);
      return;
    case kDevicePointer: put(value, pointer); return;
    case kHostPointer:
      require(!block.is_on_device());
      put(value, pointer);
      return;
    case kBufferId: put<unsigned long long>(value, block.id()); return;
    case kIsManaged: put<bool>(value, false); return;
    case kDeviceOrdinal: put<int>(value, block.device()); return;
    case kRangeStart: put(value, block.address()); return;
    case kRangeSize: put<size_t>(value, block.bytes()); return;
    case kMapped: put<bool>(value, true); return;
    default: fail(ERROR_NOT_SUPPORTED);
  }
}

/// What cuPointerGetAttributes writes for a pointer that CUDA does not know.
void read_unknown(int attribute, void* value) {
  switch (attribute) {
    case kMemoryType: put<unsigned>(value, 0); return;
    case kIsManaged:
    case kMapped: put<bool>(value, false); return;
    case kDeviceOrdinal: put<int>(value, -2); return;
    default: put<uint64_t>(value, 0); return;
  }
}

}  // namespace

void address_range(DevicePtr* base, size_t* bytes, DevicePtr pointer) {
  current_context();
  const auto block = memory_map().find(pointer, 1);
  require(block && block->is_on_device(), ERROR_NOT_FOUND);
  if (base) *base = block->address();
  if (bytes) *bytes = block->bytes();
}

void pointer_attribute(void* value, int attribute, DevicePtr pointer) {
  require(value != nullptr);
  const auto block = memory_map().find(pointer, 1);
  require(block != nullptr);
  read(*block, pointer, attribute, value);
}

void pointer_attributes(unsigned count, int* attributes, void** values, DevicePtr pointer) {
  require(count > 0 && attributes != nullptr && values != nullptr);
  const auto block = memory_map().find(pointer, 1);
  for (unsigned i = 0; i < count; ++i) {
    if (block && !(attributes[i] == kHostPointer && block->is_on_device())) {
      read(*block, pointer, attributes[i], values[i]);
    } else {
      read_unknown(attributes[i], values[i]);
    }
  }
}

}  // namespace simcuda::api
