#include "python/arguments.h"

#include <cstring>

#include "python/convert.h"
#include "python/machine/device_object.h"
#include "python/runtime.h"

namespace ofl::python {

namespace {

std::optional<DType> dtype_of_type(PyObject* type) {
  struct PythonType {
    PyTypeObject* type;
    DType dtype;
  };
  static const PythonType kTypes[] = {{&PyFloat_Type, DType::f64},
                                      {&PyLong_Type, DType::i64},
                                      {&PyBool_Type, DType::b1},
                                      {&PyComplex_Type, DType::c128}};
  for (const PythonType& row : kTypes) {
    if (type == reinterpret_cast<PyObject*>(row.type)) return row.dtype;
  }
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const PyArray_Descr* descr = descr_or_null(dtype);
    if (descr && type == reinterpret_cast<PyObject*>(descr->typeobj)) return dtype;
  }
  return std::nullopt;
}

/// Of NumPy's own object for a dtype. Most are found by their number, at once.
std::optional<DType> known_descr(PyArray_Descr* descr) {
  static DType by_number[NPY_NTYPES_LEGACY] = {};
  const int number = descr->type_num;
  const bool is_numbered = number >= 0 && number < NPY_NTYPES_LEGACY;
  if (is_numbered && descr == descr_or_null(by_number[number])) return by_number[number];
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (descr != descr_or_null(dtype)) continue;
    if (is_numbered) by_number[number] = dtype;
    return dtype;
  }
  return std::nullopt;
}

}  // namespace

std::optional<DType> known_dtype(PyObject* object) {
  if (PyArray_DescrCheck(object)) return known_descr(reinterpret_cast<PyArray_Descr*>(object));
  if (PyType_Check(object)) return dtype_of_type(object);
  if (!PyUnicode_CheckExact(object)) return std::nullopt;
  const char* text = PyUnicode_AsUTF8(object);
  if (!text) {
    PyErr_Clear();  // surrogates: no name of a dtype
    return std::nullopt;
  }
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (std::strcmp(text, name_of(dtype)) != 0 || !descr_or_null(dtype)) continue;
    const bool whole = PyUnicode_GET_LENGTH(object) == Py_ssize_t(std::strlen(text));
    return whole ? std::optional<DType>(dtype) : std::nullopt;  // text may have zeros in it
  }
  return std::nullopt;
}

std::optional<Device> known_device(PyObject* object) {
  if (object == Py_None) return default_device();
  return device_or_none(object);
}

std::optional<int> known_axis(PyObject* object, int ndim) {
  const std::optional<int64_t> axis = known_integer(object);
  if (!axis || *axis < -ndim || *axis >= ndim) return std::nullopt;
  return static_cast<int>(*axis < 0 ? *axis + ndim : *axis);
}

std::optional<Dims> known_shape(PyObject* object) {
  Dims shape;
  const bool sequence = PyTuple_CheckExact(object) || PyList_CheckExact(object);
  const Py_ssize_t count = sequence ? PySequence_Fast_GET_SIZE(object) : 1;
  if (count > kMaxDims) return std::nullopt;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const auto size = known_integer(sequence ? PySequence_Fast_GET_ITEM(object, i) : object);
    if (!size || *size < 0) return std::nullopt;
    shape.push_back(*size);
  }
  return shape;
}

}  // namespace ofl::python
