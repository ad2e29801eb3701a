#include "python/tensor/element_calls.h"

#include "python/convert.h"
#include "python/runtime.h"
#include "tensor/index/elements.h"

namespace ofl::python {

namespace {

/// The operands of a call; Python's numbers are converted once it is known to which dtype.
template <int count>
struct Elements : ElementOperands<count> {
  ops::TypeCode codes[count];
  bool are_weak[count];
  Scalar held[count];

  void set(int k, char* place, DType dtype) {
    this->places[k] = place;
    this->dtypes[k] = dtype;
    codes[k] = ops::code_of(dtype);
  }
};

/// Reads what the operands are; false where one of them is something else, or none is a tensor.
template <int count>
bool find_elements(PyObject* const* operands, Elements<count>* out) {
  if (!runtime().machine.may_act_at_once()) return false;
  bool any = false;
#pragma GCC unroll 3
  for (int k = 0; k < count; ++k) {
    PyObject* const operand = operands[k];
    out->are_weak[k] = false;
    out->numbers[k] = !is_tensor(operand);
    if (!out->numbers[k]) {
      const Tensor& x = tensor_of(operand);
      if (x.ndim() != 0 || !x.storage->on_host() || !x.storage->is_settled()) return false;
      any = true;
      out->set(k, x.address(), x.dtype);
    } else if (PyFloat_CheckExact(operand) || PyLong_CheckExact(operand)) {
      out->are_weak[k] = true;
      out->codes[k] = PyFloat_CheckExact(operand) ? ops::kWeakFloat : ops::kWeakInt;
    } else if (const auto dtype = numpy_number(operand, &out->held[k])) {
      out->set(k, reinterpret_cast<char*>(out->held[k].bytes), *dtype);
    } else {
      return false;
    }
  }
  return any;
}

/// Converts Python's numbers to the dtypes of the operation; false for those that call_op() knows.
template <int count>
bool convert_numbers(const ops::Resolution& resolution, PyObject* const* operands,
                     Elements<count>* out) {
#pragma GCC unroll 3
  for (int k = 0; k < count; ++k) {
    if (!out->are_weak[k]) continue;
    out->dtypes[k] = resolution.operand[k];
    if (!store_number(operands[k], out->dtypes[k], &out->held[k])) return false;
    out->places[k] = reinterpret_cast<char*>(out->held[k].bytes);
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

template <int count>
PyObject* call_on_elements(const OpObject& op, PyObject* const* operands, TensorObject* out) {
  Elements<count> elements;
  if (op.op->is_product() || !find_elements(operands, &elements)) return nullptr;
  const ops::Resolution* resolution = op.op->find(elements.codes);
  if (!resolution || (op.op->checks_exponent && is_integer(resolution->in[1])) ||
      !convert_numbers(*resolution, operands, &elements)) {
    return nullptr;
  }
  const bool in_place = out != nullptr;
  char* place;
  if (in_place) {
    place = place_of(out->tensor, resolution->result, operands, count);
    if (!place) return nullptr;
    Py_INCREF(out);
  } else {
    out = new_element_object(resolution->result);
    place = out->tensor.storage->data();
  }
  compute_element(*resolution, elements, place, in_place);
  return reinterpret_cast<PyObject*>(out);
}

template PyObject* call_on_elements<1>(const OpObject&, PyObject* const*, TensorObject*);
template PyObject* call_on_elements<2>(const OpObject&, PyObject* const*, TensorObject*);
template PyObject* call_on_elements<3>(const OpObject&, PyObject* const*, TensorObject*);

}  // namespace ofl::python
