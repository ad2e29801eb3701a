// Where elements may begin: kernels read and write whole numbers of the machine.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace ofl::python {

/// At multiples of how many bytes kernels of a device read and write a dtype.
int64_t alignment_of(Device device, DType dtype);
/// Each element is at such a multiple, if the first one is at an address.
bool is_aligned(const Tensor& x, uintptr_t first, int64_t align);

}  // namespace ofl::python
