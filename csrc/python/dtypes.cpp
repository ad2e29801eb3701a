#include "python/dtypes.h"

#include <cstring>
#include <string>

#include "python/errors.h"

namespace ofl::python {

namespace {

PyArray_Descr* bfloat16_descr = nullptr;

/// NumPy's names differ for "long": match by kind and size.
bool same_type(PyArray_Descr* descr, DType dtype) {
  if (dtype == DType::bf16) return bfloat16_descr && descr->type_num == bfloat16_descr->type_num;
  const DTypeInfo& row = info(dtype);
  static constexpr char kKinds[] = {'b', 'i', 'u', 'f', 'c'};
  return descr->kind == kKinds[static_cast<int>(row.kind)] && PyDataType_ELSIZE(descr) == row.size;
}

std::string text_of(PyObject* object) {
  PyObject* text = PyObject_Str(object);
  const char* chars = text ? PyUnicode_AsUTF8(text) : nullptr;
  const std::string result = chars ? chars : "?";
  PyErr_Clear();
  Py_XDECREF(text);
  return result;
}

std::string supported_dtypes() {
  std::string names;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (descr_or_null(dtype)) names += std::string(names.empty() ? "" : ", ") + name_of(dtype);
  }
  return names;
}

}  // namespace

void set_bfloat16(PyArray_Descr* descr) {
  Py_INCREF(descr);  // as long as the process
  bfloat16_descr = descr;
}

PyArray_Descr* descr_of(DType dtype) {
  PyArray_Descr* descr = descr_or_null(dtype);
  if (!descr) fail(ErrorKind::type, kNoBFloat16);
  return descr;
}

PyArray_Descr* descr_or_null(DType dtype) {
  if (dtype == DType::bf16) return bfloat16_descr;
  static PyArray_Descr* descrs[kDTypeCount] = {};
  PyArray_Descr*& descr = descrs[static_cast<int>(dtype)];
  if (!descr) {
    PyObject* name = PyUnicode_FromString(name_of(dtype));
    if (!name || !PyArray_DescrConverter(name, &descr)) throw PythonErrorSet{};
    Py_DECREF(name);
  }
  return descr;
}

DType dtype_of(PyArray_Descr* descr, const char* op) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (descr == descr_or_null(dtype)) return dtype;
  }
  for (int i = 0; i < kDTypeCount; ++i) {
    if (same_type(descr, static_cast<DType>(i))) return static_cast<DType>(i);
  }
  fail(ErrorKind::type, "[", op, "] unsupported dtype ",
       text_of(reinterpret_cast<PyObject*>(descr)), "; supported: ", supported_dtypes());
}

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

DType parse_dtype(PyObject* object, const char* op) {
  if (const std::optional<DType> known = known_dtype(object)) return *known;
  PyArray_Descr* descr = nullptr;
  if (!PyArray_DescrConverter(object, &descr)) throw PythonErrorSet{};
  try {
    const DType dtype = dtype_of(descr, op);
    Py_DECREF(descr);
    return dtype;
  } catch (const Error&) {
    Py_DECREF(descr);
    throw;
  }
}

}  // namespace ofl::python
