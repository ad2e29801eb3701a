// Keys without arrays, the common ones: a view made in one step.
#pragma once

#include "python/tensor_object.h"

namespace ofl::python {

/// What a key of Python's integers, slices of them, None and ... selects of x, filled into `view`
/// (without storage and dimensions). False before any effect, but for dimensions, where a key is
/// of another kind or wrong: parse_key() knows.
bool basic_view(const Tensor& x, PyObject* key, Tensor* view);

/// The same as a new object; null without an error where it is false.
PyObject* basic_view_object(const Tensor& x, PyObject* key);

/// x[index] as a new object; null without an error where it is out of range, or x is 0-d.
PyObject* element_object(const Tensor& x, int64_t index);

}  // namespace ofl::python
