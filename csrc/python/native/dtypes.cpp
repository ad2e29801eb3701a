// Native paths of oneflow_lite/dtypes.py.
#include "python/dtypes.h"

#include "python/native/function.h"
#include "python/ops/registry.h"

namespace ofl::python {

namespace {

std::optional<DType> dtype_of_operand(PyObject* given) {
  const Tensor* tensor = tensor_or_null(given);
  return tensor ? tensor->dtype : known_dtype(given);
}

/// result_type(*operands): of two tensors or dtypes, that of their sum, which promotes alike.
PyObject* result_type_path(const Call& call) {
  if (call.rest_count != 2) return nullptr;
  const std::optional<DType> a = dtype_of_operand(call.rest[0]), b = dtype_of_operand(call.rest[1]);
  if (!a || !b) return nullptr;
  const ops::TypeCode codes[] = {ops::code_of(*a), ops::code_of(*b)};
  const DType found = *a == *b ? *a : resolve(op_of(Slot::add), codes).operand[0];
  return Py_NewRef(reinterpret_cast<PyObject*>(descr_of(found)));
}

}  // namespace

const NativeRow kDTypePaths[] = {{"result_type", result_type_path}, {nullptr, nullptr}};

}  // namespace ofl::python
