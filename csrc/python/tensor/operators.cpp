// The number and comparison slots of Tensor. Each is one call of the op that the table puts there.
#include "python/convert.h"
#include "python/runtime.h"
#include "python/slots.h"
#include "python/tensor/element_calls.h"
#include "python/tensor/type.h"
#include "tensor/index/elements.h"

namespace ofl::python {

namespace {

template <Slot slot>
PyObject* binary(PyObject* a, PyObject* b) {
  return guarded<PyObject*>(nullptr, [&] {
    PyObject* const operands[2] = {a, b};
    return call_operator(op_of(slot), operands);
  });
}

/// Python asks the other operand where this one has no quotient.
PyObject* quotient_and_rest(PyObject* a, PyObject* b) {
  const Reference quotient(binary<Slot::floordiv>(a, b));
  if (!quotient.get()) return nullptr;
  if (quotient.get() == Py_NotImplemented) Py_RETURN_NOTIMPLEMENTED;
  const Reference rest(binary<Slot::mod>(a, b));
  return rest.get() ? PyTuple_Pack(2, quotient.get(), rest.get()) : nullptr;
}

template <Slot slot>
PyObject* in_place(PyObject* a, PyObject* b) {
  return guarded<PyObject*>(nullptr, [&] {
    PyObject* const operands[2] = {a, b};
    return call_operator(op_of(slot), operands, reinterpret_cast<TensorObject*>(a));
  });
}

template <Slot slot>
PyObject* unary(PyObject* a) {
  return guarded<PyObject*>(nullptr, [&] {
    PyObject* const operands[1] = {a};
    return call_operator(op_of(slot), operands);
  });
}

/// NumPy computes some powers by simpler loops, which round differently from pow: the op for this
/// kind of base and a Python number as exponent, or null.
const OpObject* power_shortcut(PyObject* base, PyObject* exponent) {
  if (!is_tensor(base)) return nullptr;
  const DTypeKind kind = info(tensor_of(base).dtype).kind;
  const bool inexact = kind == DTypeKind::floating || kind == DTypeKind::complex;
  const bool float_exponent = PyFloat_CheckExact(exponent);
  double value;
  if (is_slot(exponent) && inexact && !is_complex_slot(exponent)) {
    const Reference chosen(checked(PyNumber_Float(exponent)));  // the loop depends on its value
  }
  if (float_exponent && inexact) {
    value = PyFloat_AS_DOUBLE(exponent);
  } else if (PyLong_CheckExact(exponent)) {
    int overflow;
    value = static_cast<double>(PyLong_AsLongLongAndOverflow(exponent, &overflow));
    if (overflow) return nullptr;
  } else {
    return nullptr;
  }
  const bool general = float_exponent && kind == DTypeKind::complex;
  if (value == 2.0) return general ? nullptr : &op_of(Slot::square);
  if (!inexact) return nullptr;
  if (value == -1.0) return general ? nullptr : &op_of(Slot::reciprocal);
  if (value == 0.5) return &op_of(Slot::sqrt);
  return value == 1.0 && kind == DTypeKind::floating ? &op_of(Slot::pos) : nullptr;
}

PyObject* call_power(PyObject* a, PyObject* b, PyObject* modulus, TensorObject* out) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    if (modulus != Py_None) fail(ErrorKind::type, "[pow] a modulus is not supported");
    if (const OpObject* op = power_shortcut(a, b)) {
      PyObject* const base[1] = {a};
      return call_operator(*op, base, out);
    }
    PyObject* const operands[2] = {a, b};
    return call_operator(op_of(Slot::pow), operands, out);
  });
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  return call_power(a, b, modulus, nullptr);
}

PyObject* in_place_power(PyObject* a, PyObject* b, PyObject* modulus) {
  return call_power(a, b, modulus, reinterpret_cast<TensorObject*>(a));
}

PyObject* convert_element(PyObject* self, const char* method, PyObject* (*convert)(PyObject*)) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    PyObject* element = checked(number_of(self, method));
    PyObject* converted = convert(element);
    Py_DECREF(element);
    return converted;
  });
}

/// The element, where it is there and Python has such numbers of its kind; else null.
PyObject* element_here(PyObject* self, DTypeKind kind) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const Tensor& x = tensor_of(self);
    Scalar element;
    if (info(x.dtype).kind != kind || x.ndim() != 0) return nullptr;
    if (!read_element(runtime().machine, x, &element)) return nullptr;
    return to_python(reinterpret_cast<const char*>(element.bytes), x.dtype);
  });
}

PyObject* as_int(PyObject* self) {
  PyObject* const element = element_here(self, DTypeKind::signed_int);
  return element || PyErr_Occurred() ? element : convert_element(self, "int", PyNumber_Long);
}

PyObject* as_float(PyObject* self) {
  PyObject* const element = element_here(self, DTypeKind::floating);
  return element || PyErr_Occurred() ? element : convert_element(self, "float", PyNumber_Float);
}

PyObject* as_index(PyObject* self) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const Tensor& x = tensor_of(self);
    if (!is_integer(x.dtype) || x.ndim() != 0) {
      fail(ErrorKind::type, "only 0-d integer tensors can be indices, got dtype ", name_of(x.dtype),
           " and shape ", shape_str(x.shape));
    }
    return element_of(x, "index");
  });
}

int as_bool(PyObject* self) {
  return guarded(-1, [&]() -> int {
    const Tensor& x = tensor_of(self);
    if (x.size() != 1) {
      fail(ErrorKind::value, "[bool] the truth of a tensor with ", x.size(),
           " elements is ambiguous; use flow.any() or flow.all()");
    }
    Scalar here;
    if (x.dtype == DType::b1 && read_element(runtime().machine, x, &here))
      return here.bytes[0] != 0;
    PyObject* element = checked(element_of(x, "bool"));
    const int truth = PyObject_IsTrue(element);
    Py_DECREF(element);
    return truth;
  });
}

}  // namespace

PyObject* number_of(PyObject* self, const char* method) {
  const Tensor& x = tensor_of(self);
  if (x.ndim() != 0) {
    fail(ErrorKind::type, "[", method, "] expected a 0-d tensor, got shape ", shape_str(x.shape),
         "; take an element or call item()");
  }
  return element_of(x, method);
}

PyObject* element_of(const Tensor& x, const char* method) {
  if (x.size() != 1) {
    fail(ErrorKind::value, "[", method, "] expected one element, got shape ", shape_str(x.shape));
  }
  Scalar element;
  if (read_element(runtime().machine, x, &element)) {
    return to_python(reinterpret_cast<const char*>(element.bytes), x.dtype);
  }
  const Tensor value = look_from_python(x, method);
  return to_python(value.address(), x.dtype);
}

std::vector<PyType_Slot> tensor_number_slots() {
  return {
      {Py_nb_add, slot_pointer(binary<Slot::add>)},
      {Py_nb_subtract, slot_pointer(binary<Slot::sub>)},
      {Py_nb_multiply, slot_pointer(binary<Slot::mul>)},
      {Py_nb_true_divide, slot_pointer(binary<Slot::truediv>)},
      {Py_nb_floor_divide, slot_pointer(binary<Slot::floordiv>)},
      {Py_nb_remainder, slot_pointer(binary<Slot::mod>)},
      {Py_nb_divmod, slot_pointer(quotient_and_rest)},
      {Py_nb_matrix_multiply, slot_pointer(binary<Slot::matmul>)},
      {Py_nb_and, slot_pointer(binary<Slot::and_>)},
      {Py_nb_or, slot_pointer(binary<Slot::or_>)},
      {Py_nb_xor, slot_pointer(binary<Slot::xor_>)},
      {Py_nb_lshift, slot_pointer(binary<Slot::lshift>)},
      {Py_nb_rshift, slot_pointer(binary<Slot::rshift>)},
      {Py_nb_power, slot_pointer(power)},
      {Py_nb_inplace_add, slot_pointer(in_place<Slot::add>)},
      {Py_nb_inplace_subtract, slot_pointer(in_place<Slot::sub>)},
      {Py_nb_inplace_multiply, slot_pointer(in_place<Slot::mul>)},
      {Py_nb_inplace_true_divide, slot_pointer(in_place<Slot::truediv>)},
      {Py_nb_inplace_floor_divide, slot_pointer(in_place<Slot::floordiv>)},
      {Py_nb_inplace_remainder, slot_pointer(in_place<Slot::mod>)},
      {Py_nb_inplace_matrix_multiply, slot_pointer(in_place<Slot::matmul>)},
      {Py_nb_inplace_and, slot_pointer(in_place<Slot::and_>)},
      {Py_nb_inplace_or, slot_pointer(in_place<Slot::or_>)},
      {Py_nb_inplace_xor, slot_pointer(in_place<Slot::xor_>)},
      {Py_nb_inplace_lshift, slot_pointer(in_place<Slot::lshift>)},
      {Py_nb_inplace_rshift, slot_pointer(in_place<Slot::rshift>)},
      {Py_nb_inplace_power, slot_pointer(in_place_power)},
      {Py_nb_negative, slot_pointer(unary<Slot::neg>)},
      {Py_nb_positive, slot_pointer(unary<Slot::pos>)},
      {Py_nb_absolute, slot_pointer(unary<Slot::abs>)},
      {Py_nb_invert, slot_pointer(unary<Slot::invert>)},
      {Py_nb_int, slot_pointer(as_int)},
      {Py_nb_float, slot_pointer(as_float)},
      {Py_nb_index, slot_pointer(as_index)},
      {Py_nb_bool, slot_pointer(as_bool)},
  };
}

PyObject* tensor_richcompare(PyObject* a, PyObject* b, int operation) {
  static constexpr Slot kSlots[] = {Slot::lt, Slot::le, Slot::eq, Slot::ne, Slot::gt, Slot::ge};
  return guarded<PyObject*>(nullptr, [&] {
    PyObject* const operands[2] = {a, b};
    return call_operator(op_of(kSlots[operation]), operands);
  });
}

}  // namespace ofl::python
