// The Python type Tensor: a native type whose operator slots go straight to dispatch.
#pragma once

#include <vector>

#include "python/tensor/object.h"

namespace ofl::python {

template <typename Function>
void* slot_pointer(Function function) {
  return reinterpret_cast<void*>(function);
}

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
/// Throws the interrupt of tensor_get_buffer() that nobody has seen, if there is one.
void raise_unseen(PyObject* tensor);
/// A NumPy array over the memory of a cpu tensor, settled and shared.
PyObject* shared_array(PyObject* tensor);
/// target[...] = value for any Python value.
void assign_value(const Tensor& target, PyObject* value, const char* op);

}  // namespace ofl::python
