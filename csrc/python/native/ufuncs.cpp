// The native path of interop/numpy_ufuncs.py: a ufunc that NumPy hands over. Those of ufuncs with
// two results, each of which is an operation.
#include <algorithm>

#include "python/native/function.h"
#include "python/ops/registry.h"
#include "python/slots.h"
#include "python/tensor/unknown_extents.h"

namespace ofl::python {

namespace {

/// Of a type that is Python's, NumPy's or this package's own: no subclass with a will of its own.
bool is_plain_operand(PyObject* object) {
  if (is_tensor(object) || PyArray_CheckExact(object) || PyFloat_CheckExact(object) ||
      PyLong_CheckExact(object) || PyBool_Check(object) || PyComplex_CheckExact(object) ||
      is_slot(object) || is_unknown_extent(object)) {
    return true;
  }
  return PyArray_IsScalar(object, Generic) &&
         !PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE);
}

/// The one tensor of `out`, null of an empty tuple; false for everything else.
bool find_out(PyObject* outs, TensorObject** out) {
  if (!PyTuple_CheckExact(outs) || PyTuple_GET_SIZE(outs) > 1) return false;
  if (PyTuple_GET_SIZE(outs) == 0) return true;
  if (!is_tensor(PyTuple_GET_ITEM(outs, 0))) return false;
  *out = reinterpret_cast<TensorObject*>(PyTuple_GET_ITEM(outs, 0));
  return true;
}

/// array_ufunc(self, ufunc, method, *inputs, out, **keywords)
PyObject* array_ufunc_path(const Call& call) {
  TensorObject* out = nullptr;
  if (!PyUnicode_Check(call[2]) || !find_out(call[3], &out) ||
      PyUnicode_CompareWithASCIIString(call[2], "__call__") != 0) {
    return nullptr;
  }
  const OpObject* op = op_of_ufunc(call[1]);
  const Arguments inputs = call.rest;
  if (!op || call.rest_count != op->op->nin) return nullptr;
  const bool matrices = op->op->is_product();
  const auto fits = matrices ? +[](PyObject* x) { return is_tensor(x); } : is_plain_operand;
  if (!std::all_of(inputs, inputs + call.rest_count, fits)) return nullptr;
  return call_op(*op, inputs, op->op->nin, false, out);
}

/// What two operations make of the operands. Arrays and lists are for the function: it makes one
/// tensor of each.
template <Slot first, Slot second, int count>
PyObject* pair_path(const Call& call) {
  const auto fits = [](PyObject* x) {
    return is_tensor(x) || PyFloat_CheckExact(x) || PyLong_CheckExact(x) || PyBool_Check(x) ||
           is_of_other_type(x);
  };
  if (!std::all_of(call.values, call.values + count, fits)) return nullptr;
  const Reference one(checked(call_op(op_of(first), call.values, count, false)));
  const Reference other(checked(call_op(op_of(second), call.values, count, false)));
  return checked(PyTuple_Pack(2, one.get(), other.get()));
}

}  // namespace

const NativeRow kUfuncPaths[] = {{"array_ufunc", array_ufunc_path},
                                 {"divmod", pair_path<Slot::floordiv, Slot::mod, 2>},
                                 {"modf", pair_path<Slot::fraction, Slot::whole, 1>},
                                 {"frexp", pair_path<Slot::mantissa, Slot::exponent, 1>},
                                 {nullptr, nullptr}};

}  // namespace ofl::python
