#include "python/interop/foreign_memory.h"

#include "ep/registry.h"
#include "tensor/alignment.h"

namespace ofl::python {

bool may_be_written(const Tensor& x) {
  return x.storage->writable() &&
         !may_self_overlap(x.shape, x.strides, static_cast<int64_t>(size_of(x.dtype)));
}

MemoryRange range_of(const Tensor& x, Device device, char* first, const char* op) {
  const int64_t align = alignment_of(device, x.dtype);
  if (!is_aligned(x, reinterpret_cast<uintptr_t>(first), align)) {
    fail(ErrorKind::buffer, "[", op, "] expected memory aligned to ", align, " bytes for ",
         name_of(x.dtype), "; copy it first");
  }
  int64_t low = 0, high = static_cast<int64_t>(size_of(x.dtype));
  bool fits = true;
  for (int d = 0; d < x.ndim(); ++d) {
    int64_t span = 0;
    fits = fits && !__builtin_mul_overflow(x.shape[d] - 1, x.strides[d], &span);
    int64_t& end = fits && span < 0 ? low : high;
    fits = fits && !__builtin_add_overflow(end, span, &end);
  }
  const auto address = reinterpret_cast<uintptr_t>(first);
  fits = fits && uintptr_t{0} - static_cast<uintptr_t>(low) <= address &&
         static_cast<uintptr_t>(high) <= UINTPTR_MAX - address;
  if (!fits) {
    fail(ErrorKind::buffer, "[", op, "] shape ", shape_str(x.shape), " with strides of ",
         shape_str(x.strides), " bytes reaches beyond the memory that there can be");
  }
  return {first + low, static_cast<size_t>(high - low), -low};
}

void require_memory_of(Device device, const MemoryRange& range, const char* op) {
  const ep::Backend& backend = ep::backend_of(device.type);
  for (const char* memory : {range.begin, range.begin + range.bytes - 1}) {
    const int owner = backend.owner(memory);
    if (owner == device.index) continue;
    const Device other{device.type, static_cast<int16_t>(owner)};
    fail(ErrorKind::buffer, "[", op, "] expected memory of ", device.str(), ", got memory of ",
         owner < 0 ? concat("no ", backend.name, " device") : other.str(), " at ",
         static_cast<const void*>(memory));
  }
}

}  // namespace ofl::python
