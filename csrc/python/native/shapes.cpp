// Functions of ops/manipulation, and the methods of tensor.py that change shapes.
#include <algorithm>

#include "python/convert.h"
#include "python/native/function.h"
#include "python/native/parts.h"
#include "python/native/signature.h"
#include "python/runtime.h"
#include "python/tensor/functions.h"
#include "python/tensor/type.h"
#include "python/tensor/unknown_extents.h"
#include "tensor/layout.h"

namespace ofl::python {

namespace {

Axes all_axes(const Tensor& x) {
  Axes order;
  for (int d = 0; d < x.ndim(); ++d) order.push_back(d);
  return order;
}

bool contains(const Axes& axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

// --- another shape

/// Reads integers of Python or NumPy's int64, in one tuple or list or given one by one; false for
/// all else.
bool read_integers(Arguments items, Py_ssize_t count, Dims* numbers) {
  if (count == 1 && (PyTuple_CheckExact(items[0]) || PyList_CheckExact(items[0]))) {
    count = PySequence_Fast_GET_SIZE(items[0]);
    items = PySequence_Fast_ITEMS(items[0]);
  }
  if (count > kMaxDims) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const std::optional<int64_t> number = known_integer(items[i]);
    if (!number) return false;
    numbers->push_back(*number);
  }
  return true;
}

using Parse = Dims(PyObject*, const char*);

Dims integers(const Given& given, const char* op, Parse* parse = parse_dims) {
  Dims numbers;
  if (!read_integers(&given.object, 1, &numbers)) numbers = parse(given, op);
  return numbers;
}

/// A sequence, or an array or a tensor with a dimension.
bool has_items(PyObject* object) {
  if (is_tensor(object)) return tensor_of(object).ndim() > 0;
  if (PyArray_Check(object)) return PyArray_NDIM(reinterpret_cast<PyArrayObject*>(object)) > 0;
  return is_any_sequence(object);
}

/// Of a method: f(2, 3) and f((2, 3)) mean the same.
Dims integers(const Call& call, const char* op, Parse* parse = parse_dims) {
  Dims numbers;
  if (read_integers(call.rest, call.rest_count, &numbers)) return numbers;
  if (call.rest_count == 1 && has_items(call.rest[0])) return parse(call.rest[0], op);
  const Reference packed(checked(PyTuple_New(call.rest_count)));
  for (Py_ssize_t i = 0; i < call.rest_count; ++i) {
    PyTuple_SET_ITEM(packed.get(), i, Py_NewRef(call.rest[i]));
  }
  return parse(packed.get(), op);
}

PyObject* reshape(const Operand& x, const Given& shape, const Given& copy) {
  const Reuse reuse = reuse_of(copy);
  return reshape_tensor(*x, integers(shape, "reshape"), reuse);
}

/// x.reshape(*shape, copy)
PyObject* reshape_method(const Call& call) {
  const Tensor& x = require_tensor(call[0], "reshape");
  const Reuse reuse = reuse_of(call[1]);
  return reshape_tensor(x, integers(call, "reshape"), reuse);
}

/// ravel(x), flatten(x)
template <Reuse reuse>
PyObject* flat(const Operand& x) {
  return reshape_tensor(*x, {x->size()}, reuse);
}

void check_dimensions(Py_ssize_t ndim) {
  if (ndim <= kMaxDims) return;
  fail(ErrorKind::value, "[reshape] at most ", kMaxDims, " dimensions, got ", ndim);
}

PyObject* expand_dims(const Operand& x, const AxesArgument& axis) {
  const Py_ssize_t count = axis.count(), ndim = x->ndim() + count;
  check_dimensions(ndim);
  const Axes added = axis.within(static_cast<int>(ndim));
  if (added.size() != count) {  // the sequence's length is not that of its elements
    fail(ErrorKind::value, "[expand_dims] expected ", count, " axes, got ", added.size());
  }
  Dims shape;
  for (int d = 0, next = 0; d < ndim; ++d) {
    shape.push_back(contains(added, d) ? 1 : x->shape[next++]);
  }
  return wrap(*reshape_view(*x, shape));
}

PyObject* squeeze(const Operand& x, const AxesArgument& axis) {
  const bool all = axis.is_none() || axis.is_number_along(*x);
  const Axes gone = all ? Axes() : axis.within(x->ndim());
  for (int d : gone) {
    if (x->shape[d] != 1) {
      fail(ErrorKind::value, "[squeeze] expected size 1 along axis ", d, ", got shape ",
           shape_str(x->shape));
    }
  }
  Dims shape;
  for (int d = 0; d < x->ndim(); ++d) {
    if (all ? x->shape[d] != 1 : !contains(gone, d)) shape.push_back(x->shape[d]);
  }
  return wrap(*reshape_view(*x, shape));
}

PyObject* broadcast_to(const Operand& x, const Given& shape) {
  return wrap(broadcast_view(*x, parse_new_shape(shape, "broadcast_to"), "broadcast_to"));
}

// --- another order

PyObject* permute_dims(const Operand& x, const Given& axes) {
  return permute_tensor(*x, integers(axes, "permute_dims", parse_axes));
}

PyObject* transpose(const Operand& x, const Given& axes) {
  return axes == Py_None ? wrap(reversed_view(*x)) : permute_dims(x, axes);
}

/// x.permute_dims(*axes)
PyObject* permute_method(const Call& call) {
  const Tensor& x = require_tensor(call[0], "permute_dims");
  return permute_tensor(x, integers(call, "permute_dims", parse_axes));
}

/// x.transpose(*axes)
PyObject* transpose_method(const Call& call) {
  const Operand x(call[0], call.name);
  const bool none = call.rest_count == 0 || (call.rest_count == 1 && call.rest[0] == Py_None);
  return none ? wrap(reversed_view(*x))
              : permute_tensor(*x, integers(call, "permute_dims", parse_axes));
}

PyObject* swapaxes(const Operand& x, const AxesArgument& axis1, const AxesArgument& axis2) {
  Axes order = all_axes(*x);
  const int first = axis1.one_within(x->ndim());
  const int second = axis2.one_within(x->ndim());
  std::swap(order[first], order[second]);
  return wrap(permute_view(*x, order));
}

PyObject* moveaxis(const Operand& x, const AxesArgument& source, const AxesArgument& destination) {
  const Axes sources = source.within(x->ndim()), targets = destination.within(x->ndim());
  if (sources.size() != targets.size()) {
    fail(ErrorKind::value, "[moveaxis] expected as many destinations as sources, got ",
         targets.size(), " and ", sources.size());
  }
  Axes order(x->ndim(), -1);
  for (int i = 0; i < sources.size(); ++i) order[targets[i]] = sources[i];
  int next = 0;
  for (int& axis : order) {
    if (axis >= 0) continue;
    while (contains(sources, next)) ++next;
    axis = next++;
  }
  return wrap(permute_view(*x, order));
}

PyObject* flip(const Operand& x, const AxesArgument& axis) {
  const Axes chosen = axis.is_none() ? all_axes(*x) : axis.within(x->ndim());
  Tensor view = *x;
  for (int d : chosen) {
    if (x->shape[d] < 2) continue;
    view.offset += (x->shape[d] - 1) * x->strides[d];
    view.strides[d] = -x->strides[d];
  }
  return wrap(std::move(view));
}

/// x.copy()
PyObject* copy_method(const Call& call) { return copy_tensor(require_tensor(call[0], "copy")); }

PyObject* normalize_axes(const Given& axes, const Given& ndim, const Given& op) {
  Dims numbers;
  for (int axis : AxesArgument(axes, op).within(static_cast<int>(integer_argument(ndim)))) {
    numbers.push_back(axis);
  }
  return dims_tuple(numbers);
}

// --- repeating

/// A view with one more axis of size 1.
Tensor with_axis(const Tensor& x, int axis) {
  Dims shape;
  for (int d = 0; d <= x.ndim(); ++d) {
    if (d == axis) shape.push_back(1);
    if (d < x.ndim()) shape.push_back(x.shape[d]);
  }
  return *reshape_view(x, shape);
}

/// repeat(x, repeats, axis), of one number of times
PyObject* repeat_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  const std::optional<int64_t> times = known_integer(call[1]);
  if (!x || !times || *times < 0 || may_have_stand_ins(*x)) return nullptr;
  const bool is_flat = call[2] == Py_None && x->ndim() != 1;
  Reference flat(nullptr);
  if (is_flat) {
    flat = Reference(reshape_tensor(*x, {x->size()}, Reuse::where_possible));
    x = &tensor_of(flat.get());
  }
  const std::optional<int> axis = call[2] == Py_None ? 0 : known_axis(call[2], x->ndim());
  if (!axis || x->ndim() == kMaxDims || x->shape[*axis] == 0) return nullptr;
  Tensor rows = with_axis(*x, *axis + 1);
  rows.shape[*axis + 1] = *times;
  rows.strides[*axis + 1] = 0;
  Dims shape = x->shape;
  if (__builtin_mul_overflow(shape[*axis], *times, &shape[*axis])) return nullptr;
  return reshape_tensor(rows, shape, Reuse::never);
}

// --- moving

/// Copies x from an axis on, in whose two parts the elements change places; `shifts` are from 0 on.
void copy_rolled(const Issuer& from, const Tensor& x, const Tensor& out, const Dims& shifts,
                 int axis) {
  while (axis < x.ndim() && shifts[axis] == 0) ++axis;
  if (axis == x.ndim()) return assign(from, out, x, "assign");
  const int64_t size = x.shape[axis], first = shifts[axis];
  copy_rolled(from, part_of(x, axis, 0, size - first), part_of(out, axis, first, size - first),
              shifts, axis + 1);
  copy_rolled(from, part_of(x, axis, size - first, first), part_of(out, axis, 0, first), shifts,
              axis + 1);
}

/// The shift of each axis, from 0 on; false for arguments of other kinds, or that do not fit.
bool read_shifts(const Tensor& x, PyObject* shift, PyObject* axis, Dims* shifts) {
  Dims places, axes;
  if (!read_integers(&shift, 1, &places) || !read_integers(&axis, 1, &axes)) return false;
  if (places.size() != axes.size() && places.size() != 1) return false;
  for (int i = 0; i < axes.size(); ++i) {
    const int64_t along = axes[i] < 0 ? axes[i] + x.ndim() : axes[i];
    if (along < 0 || along >= x.ndim()) return false;
    const int64_t size = std::max<int64_t>(x.shape[along], 1);
    const int64_t moved = places[places.size() == 1 ? 0 : i] % size;
    (*shifts)[along] = ((*shifts)[along] + moved + size) % size;
  }
  return true;
}

/// roll(x, shift, axis)
PyObject* roll_path(const Call& call) {
  const Tensor* given = tensor_or_null(call[0]);
  const Issuer from = issuer();
  if (!given || from.sink) return nullptr;
  const bool is_flat = call[2] == Py_None;
  const Reference flat(is_flat ? reshape_tensor(*given, {given->size()}, Reuse::where_possible)
                               : Py_NewRef(call[0]));
  const Tensor& x = tensor_of(flat.get());
  Dims shifts(x.ndim(), 0);
  if (is_flat) {
    const std::optional<int64_t> places = known_integer(call[1]);
    const int64_t size = std::max<int64_t>(x.size(), 1);
    if (!places) return nullptr;
    shifts[0] = (*places % size + size) % size;
  } else if (!read_shifts(x, call[1], call[2], &shifts)) {
    return nullptr;
  }
  Tensor out = is_flat ? make_tensor(x.storage->state(), x.dtype, given->shape, from.site)
                       : make_as_it_lies(x, x.dtype, x.shape, from.site);
  copy_rolled(from, x, is_flat ? *reshape_view(out, x.shape) : out, shifts, 0);
  return wrap(std::move(out));
}

// --- of least dimensions

/// atleast_1d(*arrays), atleast_2d, atleast_3d: of one tensor
template <int least>
PyObject* atleast_path(const Call& call) {
  const Tensor* x = call.rest_count == 1 ? tensor_or_null(call.rest[0]) : nullptr;
  if (!x) return nullptr;
  if (x->ndim() >= least) return Py_NewRef(call.rest[0]);
  Tensor view = *x;
  while (view.ndim() < std::min(least, 2)) view = with_axis(view, 0);
  return wrap(view.ndim() < least ? with_axis(view, 2) : std::move(view));
}

// --- joining

/// The tensors of one dtype in a list or tuple, where out, dtype and casting are their defaults;
/// none of anything else.
std::vector<Tensor> parts_of(const Call& call) {
  static PyObject* const same_kind = checked(PyUnicode_InternFromString("same_kind"));
  std::vector<Tensor> parts;
  const bool is_list = PyList_CheckExact(call[0]) || PyTuple_CheckExact(call[0]);
  const bool is_plain = call[2] == Py_None && call[3] == Py_None && call[4] == same_kind;
  const Py_ssize_t count = is_list && is_plain ? PySequence_Fast_GET_SIZE(call[0]) : 0;
  parts.reserve(count);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Tensor* part = tensor_or_null(PySequence_Fast_GET_ITEM(call[0], i));
    if (!part || (i && part->dtype != parts[0].dtype)) return {};
    parts.push_back(*part);
  }
  return parts;
}

/// concat(arrays, axis, out, dtype, casting)
PyObject* concat_path(const Call& call) {
  std::vector<Tensor> parts = parts_of(call);
  if (parts.empty()) return nullptr;
  if (call[1] == Py_None) {
    for (Tensor& part : parts) {
      const Reference row(reshape_tensor(part, {part.size()}, Reuse::where_possible));
      part = tensor_of(row.get());
    }
  }
  if (parts[0].ndim() == 0) {
    fail(ErrorKind::value, "[concat] 0-d tensors cannot be joined; use stack");
  }
  const AxesArgument axis(call[1], call.name);
  return wrap(concatenate(issuer(), parts, axis.is_none() ? 0 : axis.one_within(parts[0].ndim())));
}

/// stack(arrays, axis, out, dtype, casting)
PyObject* stack_path(const Call& call) {
  std::vector<Tensor> parts = parts_of(call);
  if (parts.empty()) return nullptr;
  const Dims shape = parts[0].shape;
  if (std::any_of(parts.begin(), parts.end(), [&](const Tensor& x) { return x.shape != shape; })) {
    std::string shapes;
    for (const Tensor& part : parts) shapes += (shapes.empty() ? "" : ", ") + shape_str(part.shape);
    fail(ErrorKind::value, "[stack] expected equal shapes, got ", shapes);
  }
  const int axis = AxesArgument(call[1], call.name).one_within(shape.size() + 1);
  check_dimensions(shape.size() + 1);
  for (Tensor& part : parts) part = with_axis(part, axis);
  return wrap(concatenate(issuer(), parts, axis));
}

/// unstack(x, axis)
PyObject* unstack_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  const std::optional<int> axis = x ? known_axis(call[1], x->ndim()) : std::nullopt;
  if (!axis || may_have_stand_ins(*x)) return nullptr;
  Tensor part{x->storage, x->dtype, {}, {}, x->offset};
  for (int d = 0; d < x->ndim(); ++d) {
    if (d == *axis) continue;
    part.shape.push_back(x->shape[d]);
    part.strides.push_back(x->strides[d]);
  }
  Reference parts(checked(PyTuple_New(x->shape[*axis])));
  for (int64_t i = 0; i < x->shape[*axis]; ++i) {
    PyTuple_SET_ITEM(parts.get(), i, wrap(Tensor(part)));
    part.offset += x->strides[*axis];
  }
  return parts.release();
}

/// broadcast_shapes(*shapes)
PyObject* broadcast_shapes_path(const Call& call) {
  Dims common;
  for (Py_ssize_t i = 0; i < call.rest_count; ++i) {
    Dims shape;
    if (!read_shape(call.rest[i], &shape)) return nullptr;
    const Dims& longer = shape.size() > common.size() ? shape : common;
    const Dims& shorter = shape.size() > common.size() ? common : shape;
    Dims both = longer;
    for (int d = 1; d <= shorter.size(); ++d) {
      int64_t& size = both[longer.size() - d];
      const int64_t other = shorter[shorter.size() - d];
      if (size != other && size != 1 && other != 1) return nullptr;
      if (size == 1) size = other;
    }
    common = both;
  }
  return dims_tuple(common);
}

}  // namespace

const NativeRow kShapePaths[] = {whole<reshape>("reshape"),
                                 whole<reshape_method>("reshape_method"),
                                 whole<permute_dims>("permute_dims"),
                                 whole<permute_method>("permute_dims_method"),
                                 whole<transpose>("transpose"),
                                 whole<transpose_method>("transpose_method"),
                                 whole<swapaxes>("swapaxes"),
                                 whole<moveaxis>("moveaxis"),
                                 whole<expand_dims>("expand_dims"),
                                 whole<squeeze>("squeeze"),
                                 whole<broadcast_to>("broadcast_to"),
                                 whole<flat<Reuse::where_possible>>("ravel"),
                                 whole<flat<Reuse::never>>("flatten"),
                                 whole<flip>("flip"),
                                 whole<copy_method>("copy_method"),
                                 whole<normalize_axes>("normalize_axes"),
                                 {"concat", concat_path},
                                 {"stack", stack_path},
                                 {"repeat", repeat_path},
                                 {"unstack", unstack_path},
                                 {"broadcast_shapes", broadcast_shapes_path},
                                 {"roll", roll_path},
                                 {"atleast_1d", atleast_path<1>},
                                 {"atleast_2d", atleast_path<2>},
                                 {"atleast_3d", atleast_path<3>},
                                 {nullptr, nullptr}};

}  // namespace ofl::python
