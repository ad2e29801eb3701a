// Extents that a recorded program does not know yet. Tensors without memory have a number in the
// place of each, the stand-in; Python sees an object, so that no program can take it for a number.
#pragma once

#include <optional>

#include "python/errors.h"
#include "tensor/tensor.h"

namespace ofl::python {

/// Smaller extents are known ones.
inline constexpr int64_t kLeastStandIn = int64_t{1} << 17;

/// Sets who knows stand-ins: `shape_of(tensor, numbers)` is the shape with objects of type `kind`
/// in the place of some numbers; `strides_of(tensor, numbers)` refuses strides that depend on
/// them; `note_key(tensor, numbers, key)` is told of each x[key].
void set_unknown_extents(PyObject* shape_of, PyObject* strides_of, PyObject* note_key,
                         PyObject* kind);

/// It has no value, as tensors of a recording, and somebody knows stand-ins.
bool is_without_value(const Tensor& x);

/// It is a tensor of a recording with extents that may be stand-ins.
inline bool may_have_stand_ins(const Tensor& x) {
  for (const int64_t n : x.shape) {
    if (n >= kLeastStandIn) return is_without_value(x);
  }
  return false;
}

/// It is a tensor of a recording with strides that may come from stand-ins.
inline bool may_have_unknown_strides(const Tensor& x) {
  for (const int64_t step : x.strides) {
    if (step >= kLeastStandIn || -step >= kLeastStandIn) return is_without_value(x);
  }
  return false;
}

/// Row-major, of a known number of elements.
inline bool lies_flat(const Tensor& x) { return x.contiguous() && !may_have_stand_ins(x); }
/// The elements of such a tensor along one dimension.
inline Tensor flattened(const Tensor& x) { return *reshape_view(x, {x.size()}); }

/// Tells what is asked of a tensor that may have stand-ins.
void note_key(PyObject* tensor, PyObject* numbers, PyObject* key);

/// The shape as Python sees it, a new tuple, of a tensor that may have stand-ins; `numbers` is the
/// tuple of its extents.
PyObject* shape_with_unknown(PyObject* tensor, PyObject* numbers);

/// The strides as Python sees them, a new tuple, of a tensor that may have unknown ones; throws
/// where one is unknown. `numbers` is the tuple of its strides.
PyObject* known_strides(PyObject* tensor, PyObject* numbers);

/// The number that stands for an unknown extent; nothing for other objects.
std::optional<int64_t> stand_in_of(PyObject* object);

bool is_unknown_extent(PyObject* object);
/// An unknown extent as an operand of `op`: a tensor without a value, of the dtype that a number
/// has beside `x`. Owned; throws where `x` is no tensor.
PyObject* extent_beside(PyObject* extent, PyObject* x, const char* op);
/// Throws where a number of `op`, or one in a tuple or list, is an unknown extent.
void refuse_extents(PyObject* numbers, const char* op);
/// Throws where one is data of `op`: itself, or in an array of objects.
void refuse_elements(PyObject* data, const char* op);

}  // namespace ofl::python
