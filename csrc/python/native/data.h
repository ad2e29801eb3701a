// Tensors of whatever a program has.
#pragma once

#include "python/arguments.h"

namespace ofl::python {

/// asarray(data, dtype, device=device, copy=copy); a new reference.
PyObject* as_tensor(PyObject* data, PyObject* dtype = Py_None, PyObject* device = Py_None,
                    PyObject* copy = Py_None);
/// The same of data that is no tensor, on `home` where it is known.
PyObject* made_on(std::optional<Device> home, PyObject* data);

/// What NumPy makes of one of Python's numbers.
std::optional<DType> dtype_of_number(PyObject* value);

}  // namespace ofl::python
