// Arguments of functions that are called often: read without Python code. Each reader answers
// nullopt for what it does not know, which is then left to the general way.
#pragma once

#include <optional>

#include "python/convert.h"
#include "python/errors.h"
#include "python/tensor/object.h"

namespace ofl::python {

/// Borrowed; as many as the function has parameters.
using Arguments = PyObject* const*;

/// A tensor, or null.
inline const Tensor* tensor_or_null(PyObject* object) {
  return is_tensor(object) ? &tensor_of(object) : nullptr;
}

/// Of a Device, or None: the calling thread's default.
std::optional<Device> known_device(PyObject* object);
/// Of whatever Device() takes, with its errors.
Device named_device(PyObject* object);

/// What an argument says, or `own` for None.
inline Device device_or(PyObject* object, Device own) {
  return object == Py_None ? own : named_device(object);
}
inline DType dtype_or(PyObject* object, DType own, const char* op) {
  return object == Py_None ? own : parse_dtype(object, op);
}

/// Of one of Python's integers that fits, bool left out, or of NumPy's int64.
inline std::optional<int64_t> known_integer(PyObject* object) {
  if (!PyLong_CheckExact(object)) {
    if (Py_TYPE(object) != &PyInt64ArrType_Type) return std::nullopt;
    return PyArrayScalar_VAL(object, Int64);
  }
  int overflow;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow) return std::nullopt;
  return value;
}

/// The same from 0 on, when it is within `ndim`.
std::optional<int> known_axis(PyObject* object, int ndim);

/// An integer, or a tuple or list of them, none negative; false for all else, or part of it read.
bool read_shape(PyObject* object, Dims* shape);

inline bool is_flag(PyObject* object) { return object == Py_True || object == Py_False; }

/// A function of the module with positional arguments only; `run` returns a new reference.
template <PyObject* (*run)(Arguments), int count>
PyObject* call_positional(PyObject*, PyObject* const* arguments, Py_ssize_t given) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    if (given != count) {
      fail(ErrorKind::type, "expected ", count, " positional arguments, got ", given);
    }
    return run(arguments);
  });
}

template <PyObject* (*run)(Arguments), int count>
PyMethodDef positional(const char* name) {
  PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t) = call_positional<run, count>;
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function)), METH_FASTCALL,
          nullptr};
}

/// The truth of a Python object.
inline bool truth(PyObject* object) {
  if (is_flag(object)) return object == Py_True;
  const int answer = PyObject_IsTrue(object);
  if (answer < 0) throw PythonErrorSet{};
  return answer == 1;
}

inline int64_t integer_argument(PyObject* object) {
  const Py_ssize_t value = PyNumber_AsSsize_t(object, PyExc_OverflowError);
  if (value == -1 && PyErr_Occurred()) throw PythonErrorSet{};
  return value;
}

/// An index of an axis.
inline int64_t index_argument(PyObject* object, const char* op) {
  const Py_ssize_t value = PyNumber_AsSsize_t(object, PyExc_OverflowError);
  if (value != -1 || !PyErr_Occurred()) return value;
  if (!PyErr_ExceptionMatches(PyExc_OverflowError)) throw PythonErrorSet{};
  PyErr_Clear();
  fail(ErrorKind::overflow, "[", op, "] an index does not fit in 64 bits");
}

/// Borrowed from a string.
inline const char* utf8(PyObject* object) {
  const char* text = PyUnicode_AsUTF8(object);
  if (!text) throw PythonErrorSet{};
  return text;
}

/// The name of an operation, for errors and traces: a copy that stays.
const char* name_argument(PyObject* object);

}  // namespace ofl::python
