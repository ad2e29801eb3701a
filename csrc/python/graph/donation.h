// Tensors that a call of a program takes for good.
#pragma once

#include <Python.h>

#include "tensor/tensor.h"

namespace ofl::python {

/// A run may write to its memory: it is writable, and nobody but this one can get at it.
bool may_be_taken(const Tensor& x);

/// The tensor object has no value any more; reading it raises, with the line of this call.
/// `name`: of the function, and stays.
void give_up(PyObject* x, const char* name);

}  // namespace ofl::python
