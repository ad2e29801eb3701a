// The Python class OpCall: a call of dispatch as a value.
#pragma once

#include <pybind11/pybind11.h>

#include "tensor/op_call.h"

namespace ofl::python {

void bind_op_call(pybind11::module_& module);

/// The dtype of the scalar that operand k of a call is.
DType scalar_dtype(const OpCall& call, int k);

/// np.dtype of a DType.
pybind11::object dtype_object(DType dtype);
pybind11::tuple tuple_of_dims(const Dims& dims);

}  // namespace ofl::python
