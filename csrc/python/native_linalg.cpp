// Native paths of linalg/norms.py.
#include "python/native_function.h"
#include "python/op_registry.h"

namespace ofl::python {

namespace {

/// norm(x, ord, axis, keepdims): the root of the sum of squares, by the loops of the dot product.
PyObject* norm_path(const Call& call) {
  static const OpObject* const sqrt = find_op("sqrt");
  const Tensor* x = tensor_or_null(call[0]);
  const bool plain = call[1] == Py_None && call[2] == Py_None && call[3] == Py_False;
  if (!x || !plain || info(x->dtype).kind != DTypeKind::floating || !x->contiguous()) {
    return nullptr;
  }
  const Reference flat(wrap(*reshape_view(*x, {x->size()})));
  PyObject* const pair[2] = {flat.get(), flat.get()};
  const Reference sum(call_op(op_of(Slot::matmul), pair, 2, false));
  PyObject* const squares = sum.get();
  return call_op(*sqrt, &squares, 1, false);
}

}  // namespace

const NativeRow kLinalgPaths[] = {{"norms.norm", norm_path}, {nullptr, nullptr}};

}  // namespace ofl::python
