// Tensors of nested lists of Python's numbers.
#pragma once

#include "python/arguments.h"

namespace ofl::python {

/// A new reference to the tensor that NumPy's rules give nested lists and tuples of numbers of one
/// kind, in `dtype` where one is given. Null, without an error, for data that needs NumPy, and for
/// devices with memory of their own.
PyObject* tensor_of_lists(PyObject* data, std::optional<DType> dtype, Device device);

}  // namespace ofl::python
