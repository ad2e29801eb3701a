// Where elements may begin: kernels read and write whole numbers of the machine.
#pragma once

#include "ep/registry.h"
#include "tensor/tensor.h"

namespace ofl {

/// At multiples of how many bytes kernels of a device read and write a dtype. A kernel of a
/// device's own may read both parts of a complex number at once.
inline int64_t alignment_of(Device device, DType dtype) {
  const bool by_parts = ep::backend_of(device.type).runs_host_kernels;
  return static_cast<int64_t>(by_parts ? info(dtype).align : size_of(dtype));
}

/// Each element is at such a multiple, if the first one is at an address.
inline bool is_aligned(const Tensor& x, uintptr_t first, int64_t align) {
  if (first % static_cast<uintptr_t>(align)) return false;
  for (int d = 0; d < x.ndim(); ++d) {
    if (x.shape[d] > 1 && x.strides[d] % align) return false;
  }
  return true;
}

}  // namespace ofl
