// Extents that a recorded program does not know yet. Tensors without memory have a number in the
// place of each, the stand-in; Python sees an object, so that no program can take it for a number.
#pragma once

#include <optional>

#include "python/errors.h"
#include "tensor/tensor.h"

namespace ofl::python {

/// Smaller extents are known ones.
inline constexpr int64_t kLeastStandIn = int64_t{1} << 24;

/// Sets who knows stand-ins: `shape_of(tensor, numbers)` is the shape with objects of type `kind`
/// in the place of some numbers.
void set_unknown_extents(PyObject* shape_of, PyObject* kind);

/// It is a tensor of a recording with extents that may be stand-ins.
bool may_have_stand_ins(const Tensor& x);

/// The shape as Python sees it, a new tuple, of a tensor that may have stand-ins; `numbers` is the
/// tuple of its extents.
PyObject* shape_with_unknown(PyObject* tensor, PyObject* numbers);

/// The number that stands for an unknown extent; nothing for other objects.
std::optional<int64_t> stand_in_of(PyObject* object);

}  // namespace ofl::python
