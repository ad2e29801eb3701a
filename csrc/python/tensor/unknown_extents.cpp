#include "python/tensor/unknown_extents.h"

#include <cstring>

#include "python/numpy_api.h"

namespace ofl::python {

namespace {

// With the GIL; never given back.
PyObject* shape_function = nullptr;
PyObject* strides_function = nullptr;
PyObject* key_function = nullptr;
PyTypeObject* extent_type = nullptr;

}  // namespace

void set_unknown_extents(PyObject* shape_of, PyObject* strides_of, PyObject* note_key,
                         PyObject* kind) {
  if (!PyCallable_Check(shape_of) || !PyCallable_Check(strides_of) || !PyCallable_Check(note_key) ||
      !PyType_Check(kind)) {
    fail(ErrorKind::type, "[set_unknown_extents] expected three functions and a type");
  }
  Py_INCREF(kind);
  Py_XSETREF(shape_function, Py_NewRef(shape_of));
  Py_XSETREF(strides_function, Py_NewRef(strides_of));
  Py_XSETREF(key_function, Py_NewRef(note_key));
  PyTypeObject* const former = extent_type;
  extent_type = reinterpret_cast<PyTypeObject*>(kind);
  Py_XDECREF(former);
}

bool is_without_value(const Tensor& x) {
  if (!shape_function) return false;
  const vm::FailurePtr failure = x.storage->dependence().failure();
  return failure && failure->kind == ErrorKind::recording;
}

PyObject* shape_with_unknown(PyObject* tensor, PyObject* numbers) {
  return checked(PyObject_CallFunctionObjArgs(shape_function, tensor, numbers, nullptr));
}

PyObject* known_strides(PyObject* tensor, PyObject* numbers) {
  return checked(PyObject_CallFunctionObjArgs(strides_function, tensor, numbers, nullptr));
}

void note_key(PyObject* tensor, PyObject* numbers, PyObject* key) {
  const Reference none(
      checked(PyObject_CallFunctionObjArgs(key_function, tensor, numbers, key, nullptr)));
}

bool is_unknown_extent(PyObject* object) { return Py_TYPE(object) == extent_type; }

PyObject* extent_beside(PyObject* extent, PyObject* x, const char* op) {
  return checked(PyObject_CallMethod(extent, "beside", "Os", x, op));
}

void refuse_extents(PyObject* numbers, const char* op) {
  if (is_unknown_extent(numbers)) {
    const Reference none(checked(PyObject_CallMethod(numbers, "refuse", "s", op)));
  }
  if (!PyTuple_Check(numbers) && !PyList_Check(numbers)) return;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(numbers); ++i) {
    PyObject* const number = PySequence_Fast_GET_ITEM(numbers, i);
    if (is_unknown_extent(number)) return refuse_extents(number, op);
  }
}

void refuse_elements(PyObject* data, const char* op) {
  if (is_unknown_extent(data)) {
    const Reference none(checked(PyObject_CallMethod(data, "refuse_element", "s", op)));
  }
  if (!PyArray_Check(data) || PyArray_TYPE(reinterpret_cast<PyArrayObject*>(data)) != NPY_OBJECT) {
    return;
  }
  const Reference iterator(checked(PyArray_IterNew(data)));
  auto* const at = reinterpret_cast<PyArrayIterObject*>(iterator.get());
  while (PyArray_ITER_NOTDONE(at)) {
    PyObject* element;
    std::memcpy(&element, PyArray_ITER_DATA(at), sizeof element);
    if (element && is_unknown_extent(element)) return refuse_elements(element, op);
    PyArray_ITER_NEXT(at);
  }
}

std::optional<int64_t> stand_in_of(PyObject* object) {
  if (!is_unknown_extent(object)) return std::nullopt;
  const Reference number(checked(PyObject_GetAttrString(object, "stand_in")));
  const int64_t value = PyLong_AsLongLong(number.get());
  if (value == -1 && PyErr_Occurred()) throw PythonErrorSet{};
  return value;
}

}  // namespace ofl::python
