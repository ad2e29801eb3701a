// Keys without arrays, the common ones: a view made in one step.
#pragma once

#include <optional>

#include "python/tensor/object.h"

namespace ofl::python {

/// What a key of Python's integers, slices of them, None and ... selects of x, filled into `view`
/// (without storage and dimensions). False before any effect, but for dimensions, where a key is
/// of another kind or wrong: parse_key() knows.
bool basic_view(const Tensor& x, PyObject* key, Tensor* view);

/// Where the element is that a key of integers for all dimensions names, which 0-d tensors may
/// hold, in bytes from the start of the storage; nullopt for another key, or a wrong one.
std::optional<int64_t> element_offset(const Tensor& x, PyObject* key);

Tensor element_view(const Tensor& x, int64_t offset);

/// An element is a copy: a new object, of the cpu filled in here where that takes no instruction.
PyObject* copied_element(const Tensor& x, int64_t offset);

/// x[key] as a new object, for keys of basic_view(); null without an error where that is false.
PyObject* basic_item(const Tensor& x, PyObject* key);

/// x[index] as a new object; null without an error where it is out of range, or x is 0-d.
PyObject* item_at(const Tensor& x, int64_t index);

}  // namespace ofl::python
