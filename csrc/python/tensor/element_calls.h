// Op calls on elements and numbers that take no instruction.
#pragma once

#include "python/ops/registry.h"

namespace ofl::python {

/// False where an operand is a tensor with dimensions.
inline bool may_be_elements(PyObject* const* operands, int count) {
  for (int k = 0; k < count; ++k) {
    if (is_tensor(operands[k]) && tensor_of(operands[k]).ndim() != 0) return false;
  }
  return true;
}

/// The result of call_op(), where all operands are numbers of Python or NumPy and settled 0-d
/// tensors of the cpu, and nobody observes; null without an error otherwise, and before any effect.
template <int count>
PyObject* call_on_elements(const OpObject& op, PyObject* const* operands, TensorObject* out);

/// An operator: call_op() with as many operands as are known when this is compiled.
template <int count>
PyObject* call_operator(const OpObject& op, PyObject* const (&operands)[count],
                        TensorObject* out = nullptr) {
  if (may_be_elements(operands, count)) {
    if (PyObject* result = call_on_elements<count>(op, operands, out)) return result;
  }
  return call_on_tensors(op, operands, count, true, out);
}

}  // namespace ofl::python
