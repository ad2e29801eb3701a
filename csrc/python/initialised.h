// Classes of pybind11 whose instances always hold a value.
#pragma once

#include <pybind11/pybind11.h>

#include "python/errors.h"

namespace ofl::python {

/// `tp_new` of the class of T: it runs the class's `__init__` at once, which pybind11 ignores when
/// it is called again. Without it, `__new__` alone makes an instance in which C++ finds no value.
template <class T>
PyObject* new_initialised(PyTypeObject* type, PyObject* args, PyObject* names) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const pybind11::type own = pybind11::type::of<T>();
    const newfunc make = reinterpret_cast<PyTypeObject*>(own.ptr())->tp_base->tp_new;
    Reference made(checked(make(type, args, names)));
    const Reference init(checked(PyObject_GetAttrString(own.ptr(), "__init__")));
    const Reference bound(checked(PyMethod_New(init.get(), made.get())));
    Py_DECREF(checked(PyObject_Call(bound.get(), args, names)));
    return made.release();
  });
}

/// Given to `class_<T>`; the class may have no constructor, then nobody can make an instance.
template <class T>
pybind11::custom_type_setup initialised() {
  return pybind11::custom_type_setup(
      [](PyHeapTypeObject* heap) { heap->ht_type.tp_new = new_initialised<T>; });
}

}  // namespace ofl::python
