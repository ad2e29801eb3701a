// Native paths of ops/manipulation.py, and of the methods of tensor.py that change shapes.
#include "python/convert.h"
#include "python/native/function.h"
#include "python/runtime.h"
#include "python/tensor/functions.h"

namespace ofl::python {

namespace {

using Order = SmallVector<int, 4>;

Order order_of(const Tensor& x, bool reversed) {
  Order order;
  for (int d = 0; d < x.ndim(); ++d) order.push_back(reversed ? x.ndim() - 1 - d : d);
  return order;
}

/// A view without an axis, or with one more of size 1 in front of it.
Tensor without_axis(const Tensor& x, int axis) {
  Dims shape;
  for (int d = 0; d < x.ndim(); ++d) {
    if (d != axis) shape.push_back(x.shape[d]);
  }
  return *reshape_view(x, shape);
}

Tensor with_axis(const Tensor& x, int axis) {
  Dims shape;
  for (int d = 0; d <= x.ndim(); ++d) {
    if (d == axis) shape.push_back(1);
    if (d < x.ndim()) shape.push_back(x.shape[d]);
  }
  return *reshape_view(x, shape);
}

/// Integers in a tuple or list, or given one by one.
std::optional<Dims> integers(Arguments items, Py_ssize_t count) {
  if (count == 1 && (PyTuple_CheckExact(items[0]) || PyList_CheckExact(items[0]))) {
    count = PySequence_Fast_GET_SIZE(items[0]);
    items = PySequence_Fast_ITEMS(items[0]);
  }
  Dims numbers;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const std::optional<int64_t> number = known_integer(items[i]);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

PyObject* reshape(const Tensor* x, Arguments shape, Py_ssize_t count, PyObject* copy) {
  if (!x || (copy != Py_None && !is_flag(copy))) return nullptr;
  const std::optional<Dims> dims = integers(shape, count);
  if (!dims) return nullptr;
  const Reuse reuse = copy == Py_None   ? Reuse::where_possible
                      : copy == Py_True ? Reuse::never
                                        : Reuse::always;
  return reshape_tensor(*x, *dims, reuse);
}

/// reshape(x, shape, copy)
PyObject* reshape_path(const Call& call) {
  return reshape(tensor_or_null(call[0]), &call.values[1], 1, call[2]);
}

/// x.reshape(*shape, copy)
PyObject* reshape_method(const Call& call) {
  return reshape(tensor_or_null(call[0]), call.rest, call.rest_count, call[1]);
}

PyObject* permute(const Tensor& x, const std::optional<Dims>& axes) {
  if (!axes || axes->size() != x.ndim()) return nullptr;
  Order order;
  uint32_t seen = 0;
  for (int64_t axis : *axes) {
    if (axis < -x.ndim() || axis >= x.ndim()) return nullptr;
    const int normal = static_cast<int>(axis < 0 ? axis + x.ndim() : axis);
    if (seen >> normal & 1) return nullptr;
    seen |= uint32_t{1} << normal;
    order.push_back(normal);
  }
  return wrap(permute_view(x, order));
}

/// permute_dims(x, axes), transpose(x, axes)
PyObject* permute_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  if (!x) return nullptr;
  if (call[1] == Py_None) return nullptr;
  return PyLong_Check(call[1]) ? nullptr : permute(*x, integers(&call.values[1], 1));
}

PyObject* transpose_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  if (x && call[1] == Py_None) return wrap(permute_view(*x, order_of(*x, true)));
  return permute_path(call);
}

/// x.permute_dims(*axes), x.transpose(*axes)
PyObject* permute_method(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  return x ? permute(*x, integers(call.rest, call.rest_count)) : nullptr;
}

PyObject* transpose_method(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  if (x && call.rest_count == 0) return wrap(permute_view(*x, order_of(*x, true)));
  return permute_method(call);
}

/// swapaxes(x, axis1, axis2)
PyObject* swapaxes_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  if (!x) return nullptr;
  const std::optional<int> first = known_axis(call[1], x->ndim());
  const std::optional<int> second = known_axis(call[2], x->ndim());
  if (!first || !second) return nullptr;
  Order order = order_of(*x, false);
  std::swap(order[*first], order[*second]);
  return wrap(permute_view(*x, order));
}

/// moveaxis(x, source, destination)
PyObject* moveaxis_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  if (!x) return nullptr;
  const std::optional<int> source = known_axis(call[1], x->ndim());
  const std::optional<int> target = known_axis(call[2], x->ndim());
  if (!source || !target) return nullptr;
  Order order;
  for (int d = 0, next = 0; d < x->ndim(); ++d) {
    if (next == *source) ++next;
    order.push_back(d == *target ? *source : next++);
  }
  return wrap(permute_view(*x, order));
}

/// expand_dims(x, axis)
PyObject* expand_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  if (!x || x->ndim() >= kMaxDims) return nullptr;
  const std::optional<int> axis = known_axis(call[1], x->ndim() + 1);
  return axis ? wrap(with_axis(*x, *axis)) : nullptr;
}

/// squeeze(x, axis)
PyObject* squeeze_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  if (!x) return nullptr;
  if (call[1] != Py_None) {
    const std::optional<int> axis = known_axis(call[1], x->ndim());
    return axis && x->shape[*axis] == 1 ? wrap(without_axis(*x, *axis)) : nullptr;
  }
  Dims shape;
  for (int64_t size : x->shape) {
    if (size != 1) shape.push_back(size);
  }
  return wrap(*reshape_view(*x, shape));
}

/// broadcast_to(x, shape)
PyObject* broadcast_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  const std::optional<Dims> shape = x ? known_shape(call[1]) : std::nullopt;
  return shape ? wrap(broadcast_view(*x, *shape, "broadcast_to")) : nullptr;
}

/// ravel(x), flatten(x)
template <Reuse reuse>
PyObject* flat_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  return x ? reshape_tensor(*x, {x->size()}, reuse) : nullptr;
}

/// x.copy()
PyObject* copy_method(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  return x ? copy_tensor(*x) : nullptr;
}

/// flip(x, axis)
PyObject* flip_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  if (!x) return nullptr;
  const bool all = call[1] == Py_None;
  const std::optional<int> axis = all ? -1 : known_axis(call[1], x->ndim());
  if (!axis) return nullptr;
  Tensor view = *x;
  for (int d = 0; d < x->ndim(); ++d) {
    if ((!all && d != *axis) || x->shape[d] < 2) continue;
    view.offset += (x->shape[d] - 1) * x->strides[d];
    view.strides[d] = -x->strides[d];
  }
  return wrap(std::move(view));
}

// --- joining

/// The tensors in a list or tuple, of one dtype; false for anything else.
bool read_parts(PyObject* arrays, std::vector<Tensor>* parts) {
  if (!PyList_CheckExact(arrays) && !PyTuple_CheckExact(arrays)) return false;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(arrays);
  parts->reserve(count);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Tensor* part = tensor_or_null(PySequence_Fast_GET_ITEM(arrays, i));
    if (!part || (i && part->dtype != (*parts)[0].dtype)) return false;
    parts->push_back(*part);
  }
  return count > 0;
}

/// Whether out, dtype and casting are their defaults.
bool joins_plainly(const Call& call) {
  static PyObject* const same_kind = checked(PyUnicode_InternFromString("same_kind"));
  return call[2] == Py_None && call[3] == Py_None && call[4] == same_kind;
}

/// concat(arrays, axis, out, dtype, casting)
PyObject* concat_path(const Call& call) {
  std::vector<Tensor> parts;
  if (!joins_plainly(call) || !read_parts(call[0], &parts)) return nullptr;
  const std::optional<int> axis = known_axis(call[1], parts[0].ndim());
  return axis ? wrap(concatenate(issuer(), parts, *axis)) : nullptr;
}

/// stack(arrays, axis, out, dtype, casting)
PyObject* stack_path(const Call& call) {
  std::vector<Tensor> parts;
  if (!joins_plainly(call) || !read_parts(call[0], &parts)) return nullptr;
  const std::optional<int> axis = known_axis(call[1], parts[0].ndim() + 1);
  if (!axis || parts[0].ndim() >= kMaxDims) return nullptr;
  const Dims shape = parts[0].shape;
  for (Tensor& part : parts) {
    if (part.shape != shape) return nullptr;
    part = with_axis(part, *axis);
  }
  return wrap(concatenate(issuer(), parts, *axis));
}

}  // namespace

const NativeRow kShapePaths[] = {{"reshape", reshape_path},
                                 {"reshape_method", reshape_method},
                                 {"permute_dims", permute_path},
                                 {"permute_dims_method", permute_method},
                                 {"transpose", transpose_path},
                                 {"transpose_method", transpose_method},
                                 {"swapaxes", swapaxes_path},
                                 {"moveaxis", moveaxis_path},
                                 {"expand_dims", expand_path},
                                 {"squeeze", squeeze_path},
                                 {"broadcast_to", broadcast_path},
                                 {"ravel", flat_path<Reuse::where_possible>},
                                 {"flatten", flat_path<Reuse::never>},
                                 {"flip", flip_path},
                                 {"concat", concat_path},
                                 {"stack", stack_path},
                                 {"copy_method", copy_method},
                                 {nullptr, nullptr}};

}  // namespace ofl::python
