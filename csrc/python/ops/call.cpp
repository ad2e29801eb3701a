// An op call from Python operands: classify, resolve, convert scalars, dispatch.
#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <vector>

#include "base/casting.h"
#include "python/convert.h"
#include "python/machine/device_object.h"
#include "python/ops/blas.h"
#include "python/ops/registry.h"
#include "python/runtime.h"
#include "python/sequences.h"
#include "python/slots.h"
#include "python/tensor/element_calls.h"
#include "python/tensor/functions.h"
#include "python/tensor/unknown_extents.h"

namespace ofl::python {

namespace {

PyTypeObject* other_type = nullptr;
CallOnOthers call_on_others = nullptr;

struct Operands {
  ops::TypeCode codes[ops::kMaxInputs];
  Input inputs[ops::kMaxInputs];
  std::vector<Tensor> converted;  // from NumPy arrays; has room for all
  bool weak_or_scalar[ops::kMaxInputs] = {};
  const Tensor* first = nullptr;

  const Tensor& keep(Tensor&& tensor) {
    converted.reserve(ops::kMaxInputs);  // what is kept does not move
    converted.push_back(std::move(tensor));
    return converted.back();
  }
};

bool is_sequence(PyObject* object) { return PyList_Check(object) || PyTuple_Check(object); }

/// A tensor is among the items of a list or tuple, or among theirs. No code of the program runs
/// here, and a list may contain itself.
bool holds_tensor(PyObject* sequence) {
  std::vector<PyObject*> waiting{sequence};
  std::unordered_set<PyObject*> seen;
  while (!waiting.empty()) {
    PyObject* const one = waiting.back();
    waiting.pop_back();
    PyObject* const* const items = PySequence_Fast_ITEMS(one);
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(one);
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (is_tensor(items[i])) return true;
      if (is_sequence(items[i]) && seen.insert(items[i]).second) waiting.push_back(items[i]);
    }
  }
  return false;
}

/// The tensor of a list or tuple, as asarray() makes it: on the device `home`, or, where that is
/// null, on the device of the tensors in it.
Tensor from_sequence(PyObject* sequence, const Device* home, const char* name) {
  const Reference held(held_data(sequence, name));
  if (held.get() == sequence) return from_any(sequence, home ? *home : default_device());
  const Reference device(home ? device_object(*home) : Py_NewRef(Py_None));
  const Reference made(converted(sequence, Py_None, device.get(), Py_None));
  return tensor_of(made.get());
}

/// The device of a call without tensors. `into`: where its result goes; may be null.
Device home_of(const Tensor* into) { return into ? into->device() : default_device(); }

/// False when an operand is of a type that no op takes. Lists and tuples are arrays, as with NumPy.
/// `into`: where the result goes, on whose device operands without one are; may be null.
bool classify_all(const OpObject& op, PyObject* const* operands, int count, const Tensor* into,
                  Operands* out) {
  int tensors = 0;
  bool has_sequences = false;
  for (int k = 0; k < count; ++k) {
    if (!is_tensor(operands[k])) {
      has_sequences = has_sequences || is_sequence(operands[k]);
      continue;
    }
    ++tensors;
    out->inputs[k].tensor = &tensor_of(operands[k]);
    out->codes[k] = ops::code_of(out->inputs[k].tensor->dtype);
    if (!out->first) out->first = out->inputs[k].tensor;
  }
  if (tensors == count) return true;
  const char* name = op.op->name.c_str();
  const auto convert = [&](int k, Tensor&& tensor) {
    const Tensor& kept = out->keep(std::move(tensor));
    out->inputs[k].tensor = &kept;
    out->codes[k] = ops::code_of(kept.dtype);
    if (!out->first) out->first = &kept;
  };
  // Numbers go where tensors are, and tensors of lists stay where they are.
  for (int k = 0; has_sequences && k < count; ++k) {
    const bool is_open = !out->inputs[k].tensor && is_sequence(operands[k]);
    if (is_open && holds_tensor(operands[k])) {
      convert(k, from_sequence(operands[k], nullptr, name));
    }
  }
  for (int k = 0; k < count; ++k) {
    if (out->inputs[k].tensor) continue;
    const Device device = out->first ? out->first->device() : home_of(into);
    switch (classify(operands[k], &out->codes[k], name)) {
      case OperandKind::scalar: out->weak_or_scalar[k] = true; break;
      case OperandKind::other:
        if (!is_sequence(operands[k])) return false;
        convert(k, from_sequence(operands[k], &device, name));
        break;
      case OperandKind::array:
        require_unmasked(operands[k], name);
        convert(k, from_array(reinterpret_cast<PyArrayObject*>(operands[k]), device));
    }
  }
  return true;
}

bool is_comparison(const OpObject& op) {
  const ops::Arithmetic kind = op.op->loops.arithmetic;
  return kind >= ops::Arithmetic::less && kind <= ops::Arithmetic::greater_equal;
}

bool fits_int64(PyObject* number) {
  int overflow;
  PyLong_AsLongLongAndOverflow(number, &overflow);
  return overflow == 0;
}

/// A Python integer that an integer dtype cannot hold compares like an infinity: NumPy 2 answers,
/// where arithmetic raises OverflowError, and so does a comparison with bool. float64 holds it well
/// enough for the order.
bool compares_out_of_range(const OpObject& op, const ops::Resolution& resolution,
                           PyObject* const* operands, const ops::TypeCode* codes, int k) {
  if (!is_comparison(op) || !PyLong_CheckExact(operands[k]) || !is_integer(resolution.in[k]) ||
      codes[1 - k] == ops::code_of(DType::b1)) {
    return false;
  }
  try {
    to_scalar(operands[k], resolution.in[k]);
    return false;
  } catch (const PythonErrorSet&) {
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) throw;
    PyErr_Clear();
    return true;
  }
}

/// A Python integer whose truth is asked for is one of int64 first, as in NumPy.
void require_int64(const OpObject& op, PyObject* number) {
  if (PyLong_CheckExact(number) && !fits_int64(number)) {
    fail(ErrorKind::overflow, "[", op.op->name, "] an integer does not fit in 64 bits");
  }
}

/// The dtype of a single Python integer as an array.
DType integer_dtype(PyObject* number) {
  if (!PyLong_CheckExact(number) || fits_int64(number)) return DType::i64;
  to_scalar(number, DType::u64);  // OverflowError where it has none
  return DType::u64;
}

/// Without a tensor or array Python's numbers are not weak, as in NumPy.
void strengthen_codes(PyObject* const* operands, int count, Operands* parsed) {
  for (int k = 0; k < count; ++k) {
    ops::TypeCode& code = parsed->codes[k];
    if (code == ops::kWeakInt) {
      code = ops::code_of(count == 1 ? integer_dtype(operands[k]) : DType::i64);
    }
    if (code == ops::kWeakFloat) code = ops::code_of(DType::f64);
    if (code == ops::kWeakComplex) code = ops::code_of(DType::c128);
  }
}

/// Numbers that no integer dtype holds, in the place of which others give the answer: two Python
/// integers that are compared, and one whose truth is asked for. Returns whether there are such.
bool stand_for_long_integers(const OpObject& op, PyObject* const* operands, int count,
                             PyObject** instead) {
  const auto is_long = [&](int k) { return PyLong_CheckExact(operands[k]); };
  const bool is_not = op.op->loops.arithmetic == ops::Arithmetic::logical_not;
  if (is_not && is_long(0) && !fits_int64(operands[0])) {
    instead[0] = Py_True;
    return true;
  }
  if (!is_comparison(op) || count != 2 || !is_long(0) || !is_long(1) ||
      (fits_int64(operands[0]) && fits_int64(operands[1]))) {
    return false;
  }
  const bool is_less = PyObject_RichCompareBool(operands[0], operands[1], Py_LT) == 1;
  const bool is_greater = PyObject_RichCompareBool(operands[0], operands[1], Py_GT) == 1;
  instead[0] = is_greater ? Py_True : Py_False;
  instead[1] = is_less ? Py_True : Py_False;
  return true;
}

const ops::Resolution& convert_scalars(const OpObject& op, PyObject* const* operands,
                                       Operands* parsed) {
  PyObject* instead[ops::kMaxInputs];
  if (!parsed->first) {
    if (stand_for_long_integers(op, operands, op.op->nin, instead)) operands = instead;
    strengthen_codes(operands, op.op->nin, parsed);
  }
  const ops::Resolution* resolution = &resolve(op, parsed->codes);
  for (int k = 0; k < op.op->nin; ++k) {
    if (!parsed->weak_or_scalar[k]) continue;
    if (compares_out_of_range(op, *resolution, operands, parsed->codes, k)) {
      for (int i = 0; i < op.op->nin; ++i) parsed->codes[i] = ops::code_of(DType::f64);
      resolution = &resolve(op, parsed->codes);
      const bool negative = PyObject_RichCompareBool(operands[k], Py_False, Py_LT) == 1;
      PyObject* infinity = PyFloat_FromDouble(negative ? -HUGE_VAL : HUGE_VAL);
      parsed->inputs[k].scalar = to_scalar(infinity, DType::f64);
      Py_DECREF(infinity);
    } else if (is_slot(operands[k])) {
      parsed->inputs[k] = number_input(operands[k], resolution->operand[k]);
    } else {
      if (resolution->operand[k] == DType::b1) require_int64(op, operands[k]);
      parsed->inputs[k].scalar = to_scalar(operands[k], resolution->operand[k]);
    }
  }
  return *resolution;
}

Tensor call_matmul(const OpObject& op, const Operands& parsed) {
  if (!parsed.inputs[0].tensor || !parsed.inputs[1].tensor) {
    fail(ErrorKind::value, "[", op.op->name, "] expected at least one dimension, got a scalar");
  }
  const ops::Resolution& resolution = resolve(op, parsed.codes);
  if (!is_integer(resolution.out)) look_for_blas();
  return matmul(issuer(), *op.op, resolution, *parsed.inputs[0].tensor, *parsed.inputs[1].tensor);
}

/// No operand is a tensor: the result is one all the same.
void make_first_a_tensor(Device home, Operands* parsed, const ops::Resolution& resolution) {
  parsed->inputs[0].tensor =
      &parsed->keep(full(issuer(), home, resolution.operand[0], Dims{}, parsed->inputs[0]));
}

/// With a tensor in the place of each unknown extent.
PyObject* call_on_extents(const OpObject& op, PyObject* const* operands, int count,
                          TensorObject* out) {
  PyObject* const* const known = std::find_if(operands, operands + count, is_tensor);
  PyObject* const beside = known == operands + count ? Py_None : *known;
  SmallVector<PyObject*, 3> given;
  Reference held[3];
  for (int k = 0; k < count; ++k) {
    if (op.op->is_product()) refuse_extents(operands[k], op.op->name.c_str());
    if (is_unknown_extent(operands[k])) {
      held[k] = Reference(extent_beside(operands[k], beside, op.op->name.c_str()));
    }
    given.push_back(held[k].get() ? held[k].get() : operands[k]);
  }
  return call_on_tensors(op, given.begin(), count, false, out);
}

}  // namespace

void set_other_type(PyTypeObject* type, CallOnOthers call) {
  other_type = type;
  call_on_others = call;
}

PyObject* call_op(const OpObject& op, PyObject* const* operands, int count, bool not_implemented,
                  TensorObject* out) {
  if (may_be_elements(operands, count)) {
    PyObject* const result = count == 1   ? call_on_elements<1>(op, operands, out)
                             : count == 2 ? call_on_elements<2>(op, operands, out)
                                          : call_on_elements<3>(op, operands, out);
    if (result) return result;
  }
  return call_on_tensors(op, operands, count, not_implemented, out);
}

PyObject* call_on_tensors(const OpObject& op, PyObject* const* operands, int count,
                          bool not_implemented, TensorObject* out) {
  const Tensor* const into = out ? &out->tensor : nullptr;
  const char* const name = op.op->name.c_str();
  Operands parsed;
  if (!classify_all(op, operands, count, into, &parsed)) {
    const bool has_extents = std::any_of(operands, operands + count, is_unknown_extent);
    if (has_extents && (!not_implemented || out)) return call_on_extents(op, operands, count, out);
    if (not_implemented) Py_RETURN_NOTIMPLEMENTED;
    const bool has_others = std::any_of(operands, operands + count, is_of_other_type);
    if (has_others && !out) return call_on_others(op, operands, count);
    for (int k = 0; k < count; ++k) {
      ops::TypeCode code;
      if (is_tensor(operands[k]) || is_sequence(operands[k])) continue;
      if (classify(operands[k], &code, name) == OperandKind::other) {
        fail(ErrorKind::type, "[", name, "] expected a tensor, an array or a number, got ",
             Py_TYPE(operands[k])->tp_name);
      }
    }
  }
  if (op.op->is_product()) {
    Tensor result = call_matmul(op, parsed);
    if (!out) return wrap(std::move(result));
    require_castable(name, result.dtype, out->tensor.dtype, Casting::same_kind);
    assign(issuer(), out->tensor, result, name);
  } else {
    const ops::Resolution& resolution = convert_scalars(op, operands, &parsed);
    if (!parsed.first) make_first_a_tensor(home_of(into), &parsed, resolution);
    if (out) require_castable(name, resolution.result, out->tensor.dtype, Casting::same_kind);
    if (!out) return wrap(elementwise(issuer(), *op.op, resolution, parsed.inputs));
    elementwise_into(issuer(), *op.op, resolution, parsed.inputs, out->tensor);
  }
  Py_INCREF(out);
  return reinterpret_cast<PyObject*>(out);
}

bool is_of_other_type(PyObject* object) { return other_type && Py_TYPE(object) == other_type; }

}  // namespace ofl::python
