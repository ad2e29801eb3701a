// Python and NumPy values to and from the tensor layer's. All with the GIL; failures throw.
#pragma once

#include <optional>
#include <vector>

#include "ops/op_def.h"
#include "python/dtypes.h"
#include "python/errors.h"
#include "tensor/issue.h"

namespace ofl::python {

/// A sequence of integers, or one integer.
Dims parse_dims(PyObject* object, const char* op);
PyObject* dims_tuple(const Dims& dims);

/// What an operand that is no tensor looks like to type resolution.
enum class OperandKind : uint8_t { scalar, array, other };
/// `code` is set for scalars: weak for Python's numbers and for slots, the dtype for NumPy's.
OperandKind classify(PyObject* object, ops::TypeCode* code, const char* op);

/// The dtype of one of NumPy's own numbers, which is copied; nullopt for all else, subclasses too.
std::optional<DType> numpy_number(PyObject* value, Scalar* out);
/// A Python float or integer as one element, with NumPy's rounding, where the pair of number and
/// dtype comes often and the number fits; or a number of NumPy that has the dtype. Else false.
bool store_number(PyObject* value, DType dtype, Scalar* out);
/// A Python or NumPy scalar as one element; OverflowError and friends as NumPy has them.
Scalar to_scalar(PyObject* value, DType dtype);
/// The same as an operand. A slot is one of its kind now, so that what no such number can become is
/// an error; each run gives its value.
Input number_input(PyObject* value, DType dtype);
/// One element as a Python object.
PyObject* to_python(const char* element, DType dtype);

/// The dtype of data of `op`; throws for strings and objects, and for an unknown extent by name.
DType dtype_of_array(PyArrayObject* array, const char* op);
Tensor from_array(PyArrayObject* array, Device device);
/// Of whatever NumPy makes an array of.
Tensor from_any(PyObject* object, Device device);
/// A NumPy array with a copy of a settled, row-major host tensor.
PyObject* array_of(const Tensor& x);
/// A NumPy array over the memory of a finished host tensor, which it keeps alive.
PyObject* array_over(const Tensor& x, bool writable);
/// The same over memory of a device whose queues run host kernels, and which has been waited for.
PyObject* array_over_device(const Tensor& x, bool writable);
/// As array_over(); `shared`, of the tensor's memory, is gone with the array.
PyObject* shared_array_over(const Tensor& x, bool writable, std::unique_ptr<SharedStorage> shared);

}  // namespace ofl::python
