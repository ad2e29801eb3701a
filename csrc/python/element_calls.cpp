#include "python/element_calls.h"

#include "python/convert.h"
#include "python/runtime.h"
#include "tensor/elements.h"

namespace ofl::python {

namespace {

/// The operands of a call; numbers are converted once it is known to which dtype.
struct Elements {
  ops::TypeCode codes[ops::kMaxInputs];
  ElementOperand inputs[ops::kMaxInputs];
  Scalar numbers[ops::kMaxInputs];
};

/// Reads what the operands are; false where one of them is something else, or none is a tensor.
bool find_elements(PyObject* const* operands, int count, Elements* out) {
  const vm::VirtualMachine& machine = runtime().machine;
  bool any = false;
  for (int k = 0; k < count; ++k) {
    ElementOperand& input = out->inputs[k];
    if (Py_TYPE(operands[k]) == tensor_type) {
      const Tensor& x = tensor_of(operands[k]);
      if (x.ndim() != 0) return false;
      char* const data = settled_data(machine, *x.storage);
      if (!data) return false;
      any = true;
      input.place = data + x.offset;
      input.dtype = x.dtype;
      out->codes[k] = ops::code_of(x.dtype);
    } else if (PyFloat_CheckExact(operands[k]) || PyLong_CheckExact(operands[k])) {
      input.is_number = true;
      out->codes[k] = PyFloat_CheckExact(operands[k]) ? ops::kWeakFloat : ops::kWeakInt;
    } else {
      return false;
    }
  }
  return any;
}

/// Converts the numbers to the dtypes of the operation; false for those that call_op() knows.
bool convert_numbers(const ops::Resolution& resolution, PyObject* const* operands, int count,
                     Elements* out) {
  for (int k = 0; k < count; ++k) {
    ElementOperand& input = out->inputs[k];
    if (!input.is_number) continue;
    input.dtype = resolution.operand[k];
    if (!store_number(operands[k], input.dtype, &out->numbers[k])) return false;
    input.place = reinterpret_cast<char*>(out->numbers[k].bytes);
  }
  return true;
}

/// Where the result goes that `out` takes as it is; null where it does not.
char* place_of(const Tensor& out, DType result, PyObject* const* operands, int count) {
  if (out.ndim() != 0 || out.dtype != result || !out.storage->writable()) return nullptr;
  for (int k = 0; k < count; ++k) {
    const Tensor* x = is_tensor(operands[k]) ? &tensor_of(operands[k]) : nullptr;
    if (!x || x->storage.get() != out.storage.get()) continue;
    if (x->offset != out.offset || x->dtype != out.dtype) return nullptr;  // they may overlap
  }
  char* const data = settled_data(runtime().machine, *out.storage);
  return data ? data + out.offset : nullptr;
}

}  // namespace

PyObject* call_on_elements(const OpObject& op, PyObject* const* operands, int count,
                           TensorObject* out) {
  Elements elements;
  if (!find_elements(operands, count, &elements) || op.op->kind == ops::OpKind::matmul) {
    return nullptr;
  }
  const ops::Resolution* resolution = op.op->find(elements.codes);
  if (!resolution || (op.op->checks_exponent && is_integer(resolution->in[1])) ||
      !convert_numbers(*resolution, operands, count, &elements)) {
    return nullptr;
  }
  ElementOperand result;
  result.dtype = resolution->result;
  const bool in_place = out != nullptr;
  if (in_place) {
    result.place = place_of(out->tensor, result.dtype, operands, count);
    if (!result.place) return nullptr;
    Py_INCREF(out);
  } else {
    out = new_element_object(result.dtype);
    result.place = out->tensor.storage->data();
  }
  compute_element(*resolution, count, elements.inputs, result, in_place);
  return reinterpret_cast<PyObject*>(out);
}

}  // namespace ofl::python
