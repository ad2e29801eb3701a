// Native paths of functions on elements: casts, take, sorts.
#include "python/convert.h"
#include "python/native/signature.h"
#include "python/tensor/functions.h"

namespace ofl::python {

namespace {

PyObject* astype(const Operand& x, const Given& dtype, const Given& copy, const Given& device) {
  const Reference cast(cast_tensor(x.object(), parse_dtype(dtype, "astype"), truth(copy)));
  return move_tensor(cast.get(), device_or(device, tensor_of(cast.get()).device()), false);
}

/// sort(x, axis, kind, descending, stable)
PyObject* sort_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  const std::optional<int> axis = x ? known_axis(call[1], x->ndim()) : std::nullopt;
  if (!axis || !is_flag(call[3]) || call[2] != Py_None) return nullptr;
  return sort_tensor(*x, *axis, call[3] == Py_True, call[4] != Py_False);
}

/// argsort(x, axis, kind, descending, stable)
PyObject* argsort_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  const std::optional<int> axis = x ? known_axis(call[1], x->ndim()) : std::nullopt;
  if (!axis || !is_flag(call[3]) || call[2] != Py_None) return nullptr;
  return argsort_tensor(*x, *axis, call[3] == Py_True);
}

/// take(x, indices, axis, mode)
PyObject* take_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  if (!x || !PyUnicode_CheckExact(call[3])) return nullptr;
  if (PyUnicode_CompareWithASCIIString(call[3], "raise") != 0) return nullptr;
  const bool flat = call[2] == Py_None && x->ndim() == 1;
  const std::optional<int> axis = flat ? 0 : known_axis(call[2], x->ndim());
  return axis ? take_along(*x, call[1], *axis, ops::OutOfRange::raise) : nullptr;
}

}  // namespace

const NativeRow kElementPaths[] = {whole<astype>("astype"),
                                   {"take", take_path},
                                   {"sort", sort_path},
                                   {"argsort", argsort_path},
                                   {nullptr, nullptr}};

}  // namespace ofl::python
