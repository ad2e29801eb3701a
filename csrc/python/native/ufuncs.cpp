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

/// The operations that make the two results of a ufunc.
struct Pair {
  Slot first, second;
  int operands;
};
constexpr Pair kDivmod = {Slot::floordiv, Slot::mod, 2};
constexpr Pair kModf = {Slot::fraction, Slot::whole, 1};
constexpr Pair kFrexp = {Slot::mantissa, Slot::exponent, 1};

/// Null: there are none.
const Pair* pair_of_ufunc(PyObject* ufunc) {
  static PyObject* const numpys_divmod = [] {
    const Reference numpy(checked(PyImport_ImportModule("numpy")));
    return checked(PyObject_GetAttrString(numpy.get(), "divmod"));
  }();
  if (ufunc == numpys_divmod) return &kDivmod;
  if (ufunc == op_of(Slot::fraction).ufunc) return &kModf;
  return ufunc == op_of(Slot::mantissa).ufunc ? &kFrexp : nullptr;
}

/// The results of two operations on the operands. Arrays and lists are for the function, which
/// makes one tensor of each.
PyObject* call_pair(const Pair& pair, PyObject* const* operands) {
  const auto fits = [](PyObject* x) {
    return is_tensor(x) || PyFloat_CheckExact(x) || PyLong_CheckExact(x) || PyBool_Check(x) ||
           is_of_other_type(x);
  };
  if (!std::all_of(operands, operands + pair.operands, fits)) return nullptr;
  const Reference one(checked(call_op(op_of(pair.first), operands, pair.operands, false)));
  const Reference other(checked(call_op(op_of(pair.second), operands, pair.operands, false)));
  return checked(PyTuple_Pack(2, one.get(), other.get()));
}

template <const Pair& pair>
PyObject* pair_path(const Call& call) {
  return call_pair(pair, call.values);
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
  if (!op) {
    const Pair* const pair = out ? nullptr : pair_of_ufunc(call[1]);
    return pair && call.rest_count == pair->operands ? call_pair(*pair, inputs) : nullptr;
  }
  if (call.rest_count != op->op->nin) return nullptr;
  const bool matrices = op->op->is_product();
  const auto fits = matrices ? +[](PyObject* x) { return is_tensor(x); } : is_plain_operand;
  if (!std::all_of(inputs, inputs + call.rest_count, fits)) return nullptr;
  return call_op(*op, inputs, op->op->nin, false, out);
}

}  // namespace

const NativeRow kUfuncPaths[] = {{"array_ufunc", array_ufunc_path},
                                 {"divmod", pair_path<kDivmod>},
                                 {"modf", pair_path<kModf>},
                                 {"frexp", pair_path<kFrexp>},
                                 {nullptr, nullptr}};

}  // namespace ofl::python
