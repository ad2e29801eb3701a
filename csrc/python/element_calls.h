// Op calls on elements and numbers that take no instruction.
#pragma once

#include "python/op_registry.h"

namespace ofl::python {

/// False where an operand is a tensor with dimensions. Tensor has no subtypes.
inline bool may_be_elements(PyObject* const* operands, int count) {
  for (int k = 0; k < count; ++k) {
    if (Py_TYPE(operands[k]) == tensor_type && tensor_of(operands[k]).ndim() != 0) return false;
  }
  return true;
}

/// The result of call_op(), where all operands are numbers of Python and settled 0-d tensors of the
/// cpu, and nobody observes; null without an error otherwise, and before any effect.
PyObject* call_on_elements(const OpObject& op, PyObject* const* operands, int count,
                           TensorObject* out);

}  // namespace ofl::python
