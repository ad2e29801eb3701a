// Native paths of functions on elements: casts, take, sorts, partitions.
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
  if (!axis) return nullptr;
  return take_along(*x, call[1], *axis, ops::OutOfRange::raise, "take");
}

/// partition(x, kth, axis, kind) and argpartition(), of one place
template <auto partition>
PyObject* partition_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  const std::optional<int> axis = x ? known_axis(call[2], x->ndim()) : std::nullopt;
  const std::optional<int64_t> place = known_integer(call[1]);
  if (!axis || !place || !PyUnicode_CheckExact(call[3])) return nullptr;
  const int64_t size = x->shape[*axis];
  const bool is_within = *place >= -size && *place < size;
  if (!is_within || PyUnicode_CompareWithASCIIString(call[3], "introselect") != 0) return nullptr;
  return partition(*x, *axis, *place < 0 ? *place + size : *place);
}

}  // namespace

const NativeRow kElementPaths[] = {whole<astype>("astype"),
                                   {"take", take_path},
                                   {"sort", sort_path},
                                   {"argsort", argsort_path},
                                   {"partition", partition_path<partition_tensor>},
                                   {"argpartition", partition_path<argpartition_tensor>},
                                   {nullptr, nullptr}};

}  // namespace ofl::python
