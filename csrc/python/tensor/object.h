// Objects of the Python type Tensor: made, wrapped, kept for the next one.
#pragma once

#include "python/errors.h"
#include "tensor/tensor.h"

namespace ofl::python {

struct TensorObject {
  PyObject_HEAD PyObject* weakrefs;
  Tensor tensor;
};

extern PyTypeObject* tensor_type;

/// Tensor has no subtypes.
inline bool is_tensor(PyObject* object) { return Py_TYPE(object) == tensor_type; }
inline const Tensor& tensor_of(PyObject* object) {
  return reinterpret_cast<TensorObject*>(object)->tensor;
}
/// Error(type) `[op] expected a tensor, got list` for anything else.
const Tensor& require_tensor(PyObject* object, const char* op);

/// A new reference.
PyObject* wrap(Tensor&& tensor);
/// The same, with a tensor to fill in: it has no storage and no dimensions; dtype and offset are
/// anything.
TensorObject* new_tensor_object();
/// An element of the cpu with memory of its own, to be filled in before anybody else has it.
TensorObject* new_element_object(DType dtype);

/// Of the type: keeps the object for a next tensor, or frees it.
void tensor_dealloc(PyObject* self);

}  // namespace ofl::python
