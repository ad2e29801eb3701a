// A part of a tensor, as a view.
#pragma once

#include "tensor/tensor.h"

namespace ofl::python {

/// `count` places of an axis, from `begin` on.
inline Tensor part_of(Tensor x, int axis, int64_t begin, int64_t count) {
  x.offset += begin * x.strides[axis];
  x.shape[axis] = count;
  return x;
}

}  // namespace ofl::python
