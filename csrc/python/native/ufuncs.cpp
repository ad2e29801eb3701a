// The native path of interop/numpy_ufuncs.py: a ufunc that NumPy hands over.
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

}  // namespace

const NativeRow kUfuncPaths[] = {{"array_ufunc", array_ufunc_path}, {nullptr, nullptr}};

}  // namespace ofl::python
