// Python types whose objects hold a C++ value, and which Python's classes extend.
#pragma once

#include <new>
#include <utility>

#include "python/errors.h"

namespace ofl::python {

template <typename T>
struct NativeObject {
  PyObject_HEAD T value;
};

template <typename T>
T& value_of(PyObject* object) {
  return reinterpret_cast<NativeObject<T>*>(object)->value;
}

/// A new object of a type, or of a class that extends it.
template <typename T>
PyObject* new_native(PyTypeObject* type, T value) {
  PyObject* const object = checked(type->tp_alloc(type, 0));
  new (&value_of<T>(object)) T(std::move(value));
  return object;
}

/// `tp_dealloc`. The destructor runs with the error indicator as it is.
template <typename T>
void dealloc_native(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  if (PyType_IS_GC(type)) PyObject_GC_UnTrack(self);
  value_of<T>(self).~T();
  type->tp_free(self);
  Py_DECREF(type);
}

/// `tp_new` of types whose objects are made by functions alone.
inline PyObject* refuse_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyErr_Format(PyExc_TypeError, "%s: no instance is made by a call", type->tp_name);
  return nullptr;
}

/// Makes a type and puts it into the module by the last part of its name.
inline PyTypeObject* add_type(PyObject* module, PyType_Spec* spec, const char* name) {
  PyObject* const type = checked(PyType_FromSpec(spec));
  if (PyModule_AddObject(module, name, type) < 0) throw PythonErrorSet{};
  return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace ofl::python
