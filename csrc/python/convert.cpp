#include "python/convert.h"

#include <cstring>
#include <memory>

#include "base/half.h"
#include "python/runtime.h"
#include "python/sequences.h"
#include "python/slots.h"
#include "python/tensor/object.h"
#include "python/tensor/unknown_extents.h"

namespace ofl::python {

DType dtype_of_array(PyArrayObject* array, const char* op) {
  refuse_elements(reinterpret_cast<PyObject*>(array), op);
  return dtype_of(PyArray_DESCR(array), op);
}

Dims parse_dims(PyObject* object, const char* op) {
  const auto number = [op](PyObject* item) -> int64_t {
    if (const auto stand_in = stand_in_of(item)) return *stand_in;
    if (!PyIndex_Check(item)) {
      fail(ErrorKind::type, "[", op, "] expected integers, got ", Py_TYPE(item)->tp_name);
    }
    const Py_ssize_t value = PyNumber_AsSsize_t(item, PyExc_OverflowError);
    if (value != -1 || !PyErr_Occurred()) return value;
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) throw PythonErrorSet{};
    PyErr_Clear();
    fail(ErrorKind::overflow, "[", op, "] expected integers that 64 bits hold; one cannot fit");
  };
  const bool array = (PyArray_Check(object) && PyArray_NDIM((PyArrayObject*)object) > 0) ||
                     (is_tensor(object) && tensor_of(object).ndim() > 0);
  if (PyIndex_Check(object) && !array) return {number(object)};
  if (!Py_TYPE(object)->tp_iter && !PySequence_Check(object)) {
    fail(ErrorKind::type, "[", op, "] expected an integer or a sequence of integers, got ",
         Py_TYPE(object)->tp_name);
  }
  Dims dims;
  for (PyObject* item : Items::of_iterable(object, kMaxDims, op)) dims.push_back(number(item));
  return dims;
}

PyObject* dims_tuple(const Dims& dims) {
  PyObject* tuple = checked(PyTuple_New(dims.size()));
  for (int i = 0; i < dims.size(); ++i) {
    PyTuple_SET_ITEM(tuple, i, checked(PyLong_FromLongLong(dims[i])));
  }
  return tuple;
}

OperandKind classify(PyObject* object, ops::TypeCode* code, const char* op) {
  if (PyFloat_CheckExact(object)) {
    *code = ops::kWeakFloat;
  } else if (PyLong_CheckExact(object)) {
    *code = ops::kWeakInt;
  } else if (PyBool_Check(object)) {
    *code = ops::code_of(DType::b1);
  } else if (PyComplex_CheckExact(object)) {
    *code = ops::kWeakComplex;
  } else if (Scalar value; const auto dtype = numpy_number(object, &value)) {
    *code = ops::code_of(*dtype);
  } else if (PyArray_IsScalar(object, Generic)) {
    PyArray_Descr* descr = PyArray_DescrFromScalar(object);
    const DType dtype = dtype_of(descr, op);
    Py_DECREF(descr);
    *code = ops::code_of(dtype);
  } else if (is_slot(object)) {
    *code = is_complex_slot(object) ? ops::kWeakComplex : ops::kWeakFloat;
  } else if (PyArray_Check(object)) {
    return OperandKind::array;
  } else {
    return OperandKind::other;
  }
  return OperandKind::scalar;
}

namespace {

template <typename T>
T load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename T>
bool store(T number, Scalar* out) {
  std::memcpy(out->bytes, &number, sizeof number);
  return true;
}

}  // namespace

std::optional<DType> numpy_number(PyObject* value, Scalar* out) {
  struct NumberType {
    PyTypeObject* type;
    DType dtype;
    size_t place;  // of the value in the object
  };
  static const NumberType kTypes[] = {
      {&PyFloat64ArrType_Type, DType::f64, offsetof(PyFloat64ScalarObject, obval)},
      {&PyInt64ArrType_Type, DType::i64, offsetof(PyInt64ScalarObject, obval)},
      {&PyFloat32ArrType_Type, DType::f32, offsetof(PyFloat32ScalarObject, obval)},
      {&PyBoolArrType_Type, DType::b1, offsetof(PyBoolScalarObject, obval)},
      {&PyInt32ArrType_Type, DType::i32, offsetof(PyInt32ScalarObject, obval)},
      {&PyComplex128ArrType_Type, DType::c128, offsetof(PyComplex128ScalarObject, obval)},
      {&PyUInt8ArrType_Type, DType::u8, offsetof(PyUInt8ScalarObject, obval)},
      {&PyInt8ArrType_Type, DType::i8, offsetof(PyInt8ScalarObject, obval)},
      {&PyInt16ArrType_Type, DType::i16, offsetof(PyInt16ScalarObject, obval)},
      {&PyUInt16ArrType_Type, DType::u16, offsetof(PyUInt16ScalarObject, obval)},
      {&PyUInt32ArrType_Type, DType::u32, offsetof(PyUInt32ScalarObject, obval)},
      {&PyUInt64ArrType_Type, DType::u64, offsetof(PyUInt64ScalarObject, obval)},
      {&PyHalfArrType_Type, DType::f16, offsetof(PyHalfScalarObject, obval)},
      {&PyComplex64ArrType_Type, DType::c64, offsetof(PyComplex64ScalarObject, obval)},
  };
  for (const NumberType& row : kTypes) {
    if (Py_TYPE(value) != row.type) continue;
    std::memcpy(out->bytes, reinterpret_cast<const char*>(value) + row.place, size_of(row.dtype));
    return row.dtype;
  }
  return std::nullopt;
}

bool store_number(PyObject* value, DType dtype, Scalar* out) {
  if (PyFloat_CheckExact(value)) {
    const double number = PyFloat_AS_DOUBLE(value);
    if (dtype == DType::f64) return store(number, out);
    return dtype == DType::f32 && store(static_cast<float>(number), out);
  }
  if (!PyLong_CheckExact(value)) return numpy_number(value, out) == dtype;
  int overflow;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow) return false;
  switch (dtype) {
    case DType::i64: return store(static_cast<int64_t>(number), out);
    case DType::f64: return store(static_cast<double>(number), out);
    case DType::f32: return store(static_cast<float>(static_cast<double>(number)), out);
    case DType::i32:
      return number == static_cast<int32_t>(number) && store(static_cast<int32_t>(number), out);
    default: return false;
  }
}

Scalar to_scalar(PyObject* value, DType dtype) {
  Scalar scalar;
  if (store_number(value, dtype, &scalar)) return scalar;
  if (dtype == DType::bf16) {
    const Scalar wide = to_scalar(value, DType::f32);
    store(ops::float_to_bfloat16(load<float>(wide.bytes)), &scalar);
    return scalar;
  }
  if (PyArray_Pack(descr_of(dtype), scalar.bytes, value) < 0) throw PythonErrorSet{};
  return scalar;
}

Input number_input(PyObject* value, DType dtype) {
  if (!is_slot(value)) return to_scalar(value, dtype);
  const Reference stand_in(
      checked(is_complex_slot(value) ? PyComplex_FromDoubles(1, 0) : PyFloat_FromDouble(1)));
  return {to_scalar(stand_in.get(), dtype), number_of_slot(value)};
}

PyObject* to_python(const char* element, DType dtype) {
  switch (dtype) {
    case DType::b1: return PyBool_FromLong(*element != 0);
    case DType::i8: return PyLong_FromLong(load<int8_t>(element));
    case DType::i16: return PyLong_FromLong(load<int16_t>(element));
    case DType::i32: return PyLong_FromLong(load<int32_t>(element));
    case DType::i64: return PyLong_FromLongLong(load<int64_t>(element));
    case DType::u8: return PyLong_FromLong(load<uint8_t>(element));
    case DType::u16: return PyLong_FromLong(load<uint16_t>(element));
    case DType::u32: return PyLong_FromUnsignedLong(load<uint32_t>(element));
    case DType::u64: return PyLong_FromUnsignedLongLong(load<uint64_t>(element));
    case DType::f16: return PyFloat_FromDouble(ops::half_to_double(load<Half>(element)));
    case DType::bf16: return PyFloat_FromDouble(ops::bfloat16_to_float(load<BFloat16>(element)));
    case DType::f32: return PyFloat_FromDouble(load<float>(element));
    case DType::f64: return PyFloat_FromDouble(load<double>(element));
    case DType::c64:
      return PyComplex_FromDoubles(load<float>(element), load<float>(element + sizeof(float)));
    case DType::c128:
      return PyComplex_FromDoubles(load<double>(element), load<double>(element + sizeof(double)));
  }
  fail(ErrorKind::runtime, "[item] unknown dtype");
}

// An array in another layout or byte order is first brought into ours by NumPy.
Tensor from_array(PyArrayObject* array, Device device) {
  const DType dtype = dtype_of_array(array, "tensor");
  if (PyArray_NDIM(array) > kMaxDims) {
    fail(ErrorKind::value, "[tensor] at most ", kMaxDims, " dimensions, got ", PyArray_NDIM(array));
  }
  const auto copy = [&](PyArrayObject* ready) {
    Dims shape;
    for (int d = 0; d < PyArray_NDIM(ready); ++d) shape.push_back(PyArray_DIM(ready, d));
    return from_host(issuer(), PyArray_DATA(ready), dtype, shape, device);
  };
  PyArray_Descr* descr = descr_of(dtype);
  if (PyArray_DESCR(array) == descr && PyArray_ISCARRAY_RO(array)) return copy(array);
  Py_INCREF(descr);
  const int flags = NPY_ARRAY_CARRAY_RO | NPY_ARRAY_NOTSWAPPED | NPY_ARRAY_ENSUREARRAY;
  const Reference held(checked(PyArray_FromArray(array, descr, flags)));
  return copy(reinterpret_cast<PyArrayObject*>(held.get()));
}

Tensor from_any(PyObject* object, Device device) {
  const Reference data(held_data(object, "tensor"));
  const Reference array(checked(PyArray_FROM_O(data.get())));
  return from_array(reinterpret_cast<PyArrayObject*>(array.get()), device);
}

namespace {

/// `keeps`: what keeps the memory, given up here.
template <typename Owner>
PyObject* array_with_owner(const Tensor& x, void* address, bool writable,
                           std::unique_ptr<Owner> keeps) {
  npy_intp shape[kMaxDims], strides[kMaxDims];
  for (int d = 0; d < x.ndim(); ++d) {
    shape[d] = x.shape[d];
    strides[d] = x.strides[d];
  }
  PyArray_Descr* descr = descr_of(x.dtype);
  Py_INCREF(descr);
  PyObject* array =
      checked(PyArray_NewFromDescr(&PyArray_Type, descr, x.ndim(), shape, strides, address,
                                   writable ? NPY_ARRAY_WRITEABLE : 0, nullptr));
  PyObject* owner = PyCapsule_New(keeps.get(), nullptr, [](PyObject* capsule) {
    delete static_cast<Owner*>(PyCapsule_GetPointer(capsule, nullptr));
  });
  if (owner) keeps.release();
  // SetBaseObject takes over `owner`, also when it fails.
  if (!owner || PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array), owner) < 0) {
    Py_DECREF(array);
    throw PythonErrorSet{};
  }
  PyArray_UpdateFlags(reinterpret_cast<PyArrayObject*>(array), NPY_ARRAY_UPDATE_ALL);
  return array;
}

}  // namespace

PyObject* array_of(const Tensor& x) {
  npy_intp shape[kMaxDims];
  for (int d = 0; d < x.ndim(); ++d) shape[d] = x.shape[d];
  PyArray_Descr* descr = descr_of(x.dtype);
  Py_INCREF(descr);
  PyObject* array = checked(
      PyArray_NewFromDescr(&PyArray_Type, descr, x.ndim(), shape, nullptr, nullptr, 0, nullptr));
  const auto bytes = static_cast<size_t>(x.size()) * size_of(x.dtype);
  if (bytes) std::memcpy(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)), x.address(), bytes);
  return array;
}

PyObject* array_over(const Tensor& x, bool writable) {
  return array_with_owner(x, x.address(), writable, std::make_unique<StorageRef>(x.storage));
}

PyObject* array_over_device(const Tensor& x, bool writable) {
  void* const address = x.size() ? x.storage->state().device.host_address(x.address()) : nullptr;
  return array_with_owner(x, address, writable, std::make_unique<StorageRef>(x.storage));
}

PyObject* shared_array_over(const Tensor& x, bool writable, std::unique_ptr<SharedStorage> shared) {
  return array_with_owner(x, x.address(), writable, std::move(shared));
}

}  // namespace ofl::python
