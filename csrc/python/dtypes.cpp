#include "python/dtypes.h"

#include <cstring>
#include <string>

#include "python/bind.h"
#include "python/errors.h"
#include "python/tensor/object.h"

namespace ofl::python {

namespace {

PyArray_Descr* bfloat16_descr = nullptr;
PyObject* scalar_types[kDTypeCount] = {};  // the package's own; they stay as long as the process

/// NumPy's names differ for "long": match by kind and size.
bool same_type(PyArray_Descr* descr, DType dtype) {
  if (dtype == DType::bf16) return bfloat16_descr && descr->type_num == bfloat16_descr->type_num;
  const DTypeInfo& row = info(dtype);
  static constexpr char kKinds[] = {'b', 'i', 'u', 'f', 'c'};
  return descr->kind == kKinds[static_cast<int>(row.kind)] && PyDataType_ELSIZE(descr) == row.size;
}

/// Clears the error that says that there is nothing.
void clear_if(PyObject* type, PyObject* other) {
  if (!PyErr_ExceptionMatches(type) && !PyErr_ExceptionMatches(other)) throw PythonErrorSet{};
  PyErr_Clear();
}

/// What an object is called or, as it may be nested without an end, looks like in short.
PyObject* text_of(PyObject* object) {
  for (const char* attribute : {"name", "__name__"}) {
    const Reference name(PyObject_GetAttrString(object, attribute));
    if (!name.get()) clear_if(PyExc_AttributeError, PyExc_AttributeError);
    const int is_name = name.get() ? PyObject_IsTrue(name.get()) : 0;
    if (is_name < 0) throw PythonErrorSet{};
    if (is_name) return checked(PyObject_Str(name.get()));
  }
  if (PyUnicode_Check(object)) return Py_NewRef(object);
  const Reference module(checked(PyImport_ImportModule("reprlib")));
  return checked(PyObject_CallMethod(module.get(), "repr", "(O)", object));
}

std::string supported_dtypes() {
  std::string names;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (descr_or_null(dtype)) names += std::string(names.empty() ? "" : ", ") + name_of(dtype);
  }
  return names;
}

[[noreturn]] void refuse(PyObject* object, const char* op) {
  const Reference name(text_of(object));
  const char* text = PyUnicode_AsUTF8(name.get());
  if (!text) throw PythonErrorSet{};
  if (PyUnicode_Check(object) && std::strcmp(text, name_of(DType::bf16)) == 0) {
    fail(ErrorKind::type, "[", op, "] ", kNoBFloat16);
  }
  fail(ErrorKind::type, "[", op, "] unsupported dtype ", text, "; supported: ", supported_dtypes());
}

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
    if (type == scalar_types[i]) return dtype;
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

/// Of any object and byte order.
std::optional<DType> supported(PyArray_Descr* descr) {
  std::optional<DType> dtype = known_descr(descr);
  for (int i = 0; !dtype && i < kDTypeCount; ++i) {
    if (same_type(descr, static_cast<DType>(i))) dtype = static_cast<DType>(i);
  }
  return dtype;
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
  if (const std::optional<DType> dtype = supported(descr)) return *dtype;
  refuse(reinterpret_cast<PyObject*>(descr), op);
}

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
  if (object == Py_None) refuse(object, op);  // NumPy's default
  PyArray_Descr* descr = nullptr;
  const bool may_be_one = is_tensor(object) || PyObject_Hash(object) != -1;  // no endless list
  if (may_be_one && PyArray_DescrConverter(object, &descr)) {
    const Reference held(reinterpret_cast<PyObject*>(descr));
    if (const std::optional<DType> dtype = supported(descr)) return *dtype;
  } else {
    clear_if(PyExc_TypeError, PyExc_KeyError);
  }
  refuse(object, op);
}

namespace {

/// The dtype of a scalar type of the package, or of a subclass of one.
PyObject* descr_of_scalar_type(PyObject* type) {
  for (auto* one = reinterpret_cast<PyTypeObject*>(type); one; one = one->tp_base) {
    for (int i = 0; i < kDTypeCount; ++i) {
      if (scalar_types[i] != reinterpret_cast<PyObject*>(one)) continue;
      return reinterpret_cast<PyObject*>(descr_or_null(static_cast<DType>(i)));
    }
  }
  return nullptr;
}

Py_hash_t hash_of_scalar_type(PyObject* self) {
  PyObject* const descr = descr_of_scalar_type(self);
  return descr ? PyObject_Hash(descr) : PyType_Type.tp_hash(self);
}

/// Two of them are one dtype or two; with anything else the dtype is compared. None is no dtype,
/// though NumPy takes it for float64.
PyObject* compare_scalar_type(PyObject* self, PyObject* other, int how) {
  PyObject* const descr = descr_of_scalar_type(self);
  if (!descr || (how != Py_EQ && how != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  if (other == Py_None) return PyBool_FromLong(how == Py_NE);
  PyObject* const others = PyType_Check(other) ? descr_of_scalar_type(other) : nullptr;
  return PyObject_RichCompare(descr, others ? others : other, how);
}

int refuse_attribute(PyObject* self, PyObject* name, PyObject*) {
  PyErr_Format(PyExc_TypeError, "attributes of %s cannot be set, %R among them",
               reinterpret_cast<PyTypeObject*>(self)->tp_name, name);
  return -1;
}

/// The metaclass of the package's scalar types. Each comparison with a dtype reads the hash and
/// attributes of the type: NumPy gets them without a call of Python code.
PyObject* make_scalar_meta() {
  PyType_Slot slots[] = {{Py_tp_base, &PyType_Type},
                         {Py_tp_hash, reinterpret_cast<void*>(hash_of_scalar_type)},
                         {Py_tp_richcompare, reinterpret_cast<void*>(compare_scalar_type)},
                         {Py_tp_setattro, reinterpret_cast<void*>(refuse_attribute)},
                         {0, nullptr}};
  PyType_Spec spec{"oneflow_lite._C.ScalarMeta", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                   slots};
  return checked(PyType_FromSpec(&spec));
}

/// set_scalar_type(dtype, type): from then on the type is taken for the dtype.
PyObject* set_scalar_type(PyObject*, PyObject* arguments) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    PyObject *dtype, *type;
    if (!PyArg_ParseTuple(arguments, "OO!", &dtype, &PyType_Type, &type)) throw PythonErrorSet{};
    PyObject*& known = scalar_types[static_cast<int>(parse_dtype(dtype, "set_scalar_type"))];
    Py_XSETREF(known, Py_NewRef(type));
    Py_RETURN_NONE;
  });
}

PyMethodDef functions[] = {{"set_scalar_type", set_scalar_type, METH_VARARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_dtypes(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
  const Reference meta(make_scalar_meta());
  if (PyModule_AddObjectRef(module, "ScalarMeta", meta.get()) < 0) throw PythonErrorSet{};
}

}  // namespace ofl::python
