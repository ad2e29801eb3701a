#include "python/foreign_memory.h"

#include "ep/cuda/cuda_device.h"

namespace ofl::python {

bool may_be_written(const Tensor& x) {
  return x.storage->writable() &&
         !may_self_overlap(x.shape, x.strides, static_cast<int64_t>(size_of(x.dtype)));
}

MemoryRange range_of(const Tensor& x, Device device, char* first, const char* op) {
  // A cuda kernel reads both parts of a complex number at once.
  const auto align =
      device.type == DeviceType::cuda ? size_of(x.dtype) : size_t{info(x.dtype).align};
  if (reinterpret_cast<uintptr_t>(first) % align) {
    fail(ErrorKind::buffer, "[", op, "] expected memory aligned to ", align, " bytes for ",
         name_of(x.dtype), "; copy it first");
  }
  int64_t low, high;
  byte_range(x.shape, x.strides, static_cast<int64_t>(size_of(x.dtype)), &low, &high);
  return {first + low, static_cast<size_t>(high - low), -low};
}

void require_memory_of(Device device, const void* memory, const char* op) {
  const int owner = ep::cuda_owner(memory);
  if (owner == device.index) return;
  fail(
      ErrorKind::buffer, "[", op, "] expected memory of ", device.str(), ", got ",
      owner < 0 ? "memory that CUDA does not know" : Device{DeviceType::cuda, int16_t(owner)}.str(),
      " at ", memory);
}

}  // namespace ofl::python
