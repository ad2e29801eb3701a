// The Python type Tensor: a native object whose operator slots go straight to dispatch.
#pragma once

#include <vector>

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

template <typename Function>
void* slot_pointer(Function function) {
  return reinterpret_cast<void*>(function);
}

/// A new reference.
PyObject* wrap(Tensor&& tensor);
/// The same, with a tensor to fill in: it has no storage and no dimensions; dtype and offset are
/// anything.
TensorObject* new_tensor_object();
/// An element of the cpu with memory of its own, to be filled in before anybody else has it.
TensorObject* new_element_object(DType dtype);

/// Makes the type; adds it to the module.
void init_tensor_type(PyObject* module);

// Slots and methods, by file.
std::vector<PyType_Slot> tensor_number_slots();  // operators.cpp
PyObject* tensor_richcompare(PyObject* a, PyObject* b, int operation);
/// The only element as a Python object; throws when there is not exactly one.
PyObject* element_of(const Tensor& x, const char* method);

/// The same of a 0-d tensor; Error(type) for any other, as NumPy's int() and float().
PyObject* number_of(PyObject* self, const char* method);
PyObject* tensor_subscript(PyObject* self, PyObject* key);  // indexing.cpp
int tensor_assign_subscript(PyObject* self, PyObject* key, PyObject* value);
PyObject* tensor_item(PyObject* self, Py_ssize_t index);
int tensor_get_buffer(PyObject* self, Py_buffer* view, int flags);  // buffer.cpp
void tensor_release_buffer(PyObject* self, Py_buffer* view);
/// A NumPy array over the memory of a cpu tensor, settled and shared.
PyObject* shared_array(const Tensor& x);
/// target[...] = value for any Python value.
void assign_value(const Tensor& target, PyObject* value, const char* op);

}  // namespace ofl::python
