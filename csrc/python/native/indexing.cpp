// Native paths of functions that read and write by masks, indices and places.
#include <algorithm>

#include "base/casting.h"
#include "python/convert.h"
#include "python/native/function.h"
#include "python/native/lists.h"
#include "python/ops/array_functions.h"
#include "python/runtime.h"
#include "python/slots.h"
#include "python/tensor/functions.h"
#include "python/tensor/type.h"
#include "python/tensor/unknown_extents.h"
#include "tensor/index/choosing.h"
#include "tensor/index/grid.h"
#include "tensor/index/index.h"
#include "tensor/index/lexsort.h"
#include "tensor/index/triangles.h"
#include "tensor/submit.h"

namespace ofl::python {

namespace {

bool is_text(PyObject* object, const char* text) {
  return PyUnicode_CheckExact(object) && PyUnicode_CompareWithASCIIString(object, text) == 0;
}

/// New small tensor of a number; without storage where it is none of the dtype, or somebody
/// observes.
Tensor tensor_of_number(PyObject* given, DType dtype, Device device) {
  Scalar value;
  Tensor made;
  if (store_number(given, dtype, &value)) {
    full_here(runtime().machine, device, dtype, {1}, &value, &made);
  }
  return made;
}

/// A tensor of this dtype, or that of a number or a list of numbers; without storage for all else.
Tensor operand_of(PyObject* given, DType dtype, Device device) {
  if (const Tensor* tensor = tensor_or_null(given)) {
    return tensor->dtype == dtype && tensor->device() == device ? *tensor : Tensor();
  }
  if (!PyList_CheckExact(given) && !PyTuple_CheckExact(given)) {
    return tensor_of_number(given, dtype, device);
  }
  const Reference made(tensor_of_lists(given, dtype, device));
  return made.get() ? tensor_of(made.get()) : Tensor();
}

PyObject* none_if(bool is_done) { return is_done ? Py_NewRef(Py_None) : nullptr; }

// --- written where a mask is true

/// place(x, mask, vals) and putmask(x, mask, values)
template <auto write>
PyObject* masked_path(const Call& call) {
  const Tensor *x = tensor_or_null(call[0]), *mask = tensor_or_null(call[1]);
  if (!x || !mask) return nullptr;
  const Tensor values = operand_of(call[2], x->dtype, x->device());
  return values.storage ? none_if(write(issuer(), *x, *mask, values)) : nullptr;
}

/// fill_diagonal(x, val, wrap): of a number
PyObject* fill_diagonal_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  const bool is_number = PyFloat_CheckExact(call[1]) || PyLong_CheckExact(call[1]);
  if (!x || !is_number || x->ndim() < 2 || !is_flag(call[2]) || !lies_flat(*x)) return nullptr;
  const bool is_matrix = x->ndim() == 2;
  if (is_matrix && call[2] == Py_True && x->shape[0] > x->shape[1]) return nullptr;
  Tensor diagonal{x->storage, x->dtype, {x->shape[0]}, {0}, x->offset};
  for (int d = 0; d < x->ndim(); ++d) {
    if (!is_matrix && x->shape[d] != x->shape[0]) return nullptr;
    diagonal.shape[0] = std::min(diagonal.shape[0], x->shape[d]);
    diagonal.strides[0] += x->strides[d];
  }
  assign_value(diagonal, call[1], "fill_diagonal");
  return Py_NewRef(Py_None);
}

// --- by a mask, read

PyObject* chosen_of(const Tensor& x, const Tensor& mask) {
  if (mask.dtype != DType::b1 || !lies_flat(x) || !lies_flat(mask) || x.size() != mask.size()) {
    return nullptr;
  }
  Tensor out;
  return gather_here(issuer(), flattened(x), flattened(mask), &out) ? wrap(std::move(out))
                                                                    : nullptr;
}

/// compress(condition, x, axis): of all elements
PyObject* compress_path(const Call& call) {
  const Tensor *mask = tensor_or_null(call[0]), *x = tensor_or_null(call[1]);
  if (!x || !mask || mask->ndim() != 1) return nullptr;
  return call[2] == Py_None || known_axis(call[2], 1) == x->ndim() - 1 ? chosen_of(*x, *mask)
                                                                       : nullptr;
}

/// extract(condition, x)
PyObject* extract_path(const Call& call) {
  const Tensor *mask = tensor_or_null(call[0]), *x = tensor_or_null(call[1]);
  return x && mask ? chosen_of(*x, *mask) : nullptr;
}

// --- by integers

/// Writes a number, or a value for each index, to places along a line; false without any effect.
bool write_at(const Tensor& line, const Tensor& index, PyObject* value) {
  Scalar number;
  if (store_number(value, line.dtype, &number)) {
    return scatter_here(issuer(), line, index, number);
  }
  const Tensor values = operand_of(value, line.dtype, line.device());
  if (!values.storage || !lies_flat(values) || values.size() != index.size()) return false;
  return scatter_here(issuer(), line, index, flattened(values));
}

/// put(x, indices, values, mode)
PyObject* put_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  if (!x || !is_text(call[3], "raise") || !lies_flat(*x)) return nullptr;
  const Tensor index = operand_of(call[1], DType::i64, x->device());
  if (!index.storage || !lies_flat(index)) return nullptr;
  return none_if(write_at(flattened(*x), flattened(index), call[2]));
}

/// put_along_axis(x, indices, values, axis) of one dimension
PyObject* put_along_axis_path(const Call& call) {
  const Tensor *x = tensor_or_null(call[0]), *index = tensor_or_null(call[1]);
  if (!x || !index || x->ndim() != 1 || index->ndim() != 1 || !known_axis(call[3], 1)) {
    return nullptr;
  }
  const Tensor* value = tensor_or_null(call[2]);
  if (value && value->shape != index->shape) return nullptr;  // it may be broadcast
  return index->dtype == DType::i64 ? none_if(write_at(*x, *index, call[2])) : nullptr;
}

/// The shape of both but for the axis is one.
bool are_lanes(const Tensor& x, const Tensor& index, int axis) {
  for (int d = 0; d < x.ndim(); ++d) {
    if (d != axis && x.shape[d] != index.shape[d]) return false;
  }
  return x.shape[axis] > 0;
}

/// take_along_axis(x, indices, axis) of lanes that are not broadcast
PyObject* take_along_axis_path(const Call& call) {
  const Tensor *x = tensor_or_null(call[0]), *index = tensor_or_null(call[1]);
  if (!x || !index || index->dtype != DType::i64 || x->device() != index->device() ||
      x->ndim() != index->ndim() || may_have_stand_ins(*x) || may_have_stand_ins(*index)) {
    return nullptr;
  }
  const std::optional<int> axis = known_axis(call[2], x->ndim());
  if (!axis || !are_lanes(*x, *index, *axis)) return nullptr;
  const Issuer from = issuer();
  Tensor out;
  if (x->ndim() == 1) {
    if (gather_here(from, *x, *index, &out)) return wrap(std::move(out));
    return take_along(*x, call[1], 0, ops::OutOfRange::raise, "take_along_axis");
  }
  out = make_tensor(x->storage->state(), x->dtype, index->shape, from.site);
  ArrayPlan plan;
  plan.name = "take_along_axis";
  plan.kernel = ops::KernelId::take_along_axis;
  plan.inputs = {x, index};
  plan.outputs = {&out};
  plan.attr = {*axis};
  plan.elements = static_cast<double>(index->size());
  submit(from, plan);
  return wrap(std::move(out));
}

/// The tensors of a list or tuple, on one device; none where it has others, or is another object.
std::vector<Tensor> tensors_in(PyObject* object) {
  std::vector<Tensor> found;
  if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object)) return found;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
  found.reserve(count);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Tensor* one = tensor_or_null(PySequence_Fast_GET_ITEM(object, i));
    if (!one || (i && one->device() != found[0].device())) return {};
    found.push_back(*one);
  }
  return found;
}

/// choose(a, choices, mode)
PyObject* choose_path(const Call& call) {
  const Tensor* numbers = tensor_or_null(call[0]);
  if (!numbers || !is_text(call[2], "raise")) return nullptr;
  Tensor out;
  return choose_here(issuer(), *numbers, tensors_in(call[1]), &out) ? wrap(std::move(out))
                                                                    : nullptr;
}

// --- places in a shape

/// Whether an argument says "F" and not "C"; nullopt for all else.
std::optional<bool> is_by_columns(PyObject* order) {
  if (is_text(order, "C")) return false;
  return is_text(order, "F") ? std::optional<bool>(true) : std::nullopt;
}

/// unravel_index(places, shape, order)
PyObject* unravel_path(const Call& call) {
  const Tensor* places = tensor_or_null(call[0]);
  const std::optional<bool> by_columns = is_by_columns(call[2]);
  Dims shape;
  if (!places || !by_columns || !read_shape(call[1], &shape)) return nullptr;
  Tensor rows;
  if (!unravel_here(issuer(), *places, shape, *by_columns, &rows)) return nullptr;
  Reference tuple(checked(PyTuple_New(shape.size())));
  for (int d = 0; d < shape.size(); ++d) {
    Tensor row = *places;  // its shape, strides and dtype
    row.storage = rows.storage;
    row.offset = rows.offset + d * rows.strides[0];
    PyTuple_SET_ITEM(tuple.get(), d, wrap(std::move(row)));
  }
  return tuple.release();
}

/// indices(dimensions, dtype, sparse, device): of int64, dense
PyObject* indices_path(const Call& call) {
  Dims shape;
  const bool is_dense = call[2] == Py_False && known_dtype(call[1]) == DType::i64;
  if (!is_dense || !read_shape(call[0], &shape)) return nullptr;
  Tensor out;
  return indices_here(issuer(), device_or(call[3], default_device()), shape, &out)
             ? wrap(std::move(out))
             : nullptr;
}

/// tril_indices(n, k, m, device) and triu_indices()
template <Places places>
PyObject* triangle_indices_path(const Call& call) {
  const std::optional<int64_t> n = known_integer(call[0]), k = known_integer(call[1]);
  const std::optional<int64_t> m = call[2] == Py_None ? n : known_integer(call[2]);
  if (!n || !k || !m || *n < 0 || *m < 0) return nullptr;
  Tensor rows, columns;
  const Device device = device_or(call[3], default_device());
  if (!triangle_indices_here(issuer(), device, {*n, *m}, places, *k, &rows, &columns)) {
    return nullptr;
  }
  const Reference first(wrap(std::move(rows))), second(wrap(std::move(columns)));
  return checked(PyTuple_Pack(2, first.get(), second.get()));
}

/// ravel_multi_index(multi_index, dims, mode, order)
PyObject* ravel_path(const Call& call) {
  const std::optional<bool> by_columns = is_by_columns(call[3]);
  Dims shape;
  if (!by_columns || !is_text(call[2], "raise") || !read_shape(call[1], &shape)) return nullptr;
  const std::vector<Tensor> indices = tensors_in(call[0]);
  if (static_cast<int>(indices.size()) != shape.size()) return nullptr;
  Tensor out;
  return ravel_here(issuer(), indices, shape, *by_columns, &out) ? wrap(std::move(out)) : nullptr;
}

// --- copies

bool broadcasts_to(const Dims& from, const Dims& to) {
  const int added = to.size() - from.size();
  if (added < 0) return false;
  for (int d = 0; d < from.size(); ++d) {
    if (from[d] != 1 && from[d] != to[d + added]) return false;
  }
  return true;
}

/// copyto(dst, src, casting, where): between tensors on one device, whole, as the usual rule allows
PyObject* copyto_path(const Call& call) {
  const Tensor *target = tensor_or_null(call[0]), *source = tensor_or_null(call[1]);
  if (!target || !source || call[3] != Py_True || !is_text(call[2], "same_kind")) return nullptr;
  if (target->device() != source->device()) return nullptr;
  if (may_have_stand_ins(*target) || may_have_stand_ins(*source)) return nullptr;
  if (!broadcasts_to(source->shape, target->shape)) return nullptr;
  require_castable("copyto", source->dtype, target->dtype, Casting::same_kind);
  assign(issuer(), *target, *source, "assign");
  Py_RETURN_NONE;
}

// --- orders

/// lexsort(keys, axis)
PyObject* lexsort_path(const Call& call) {
  const std::vector<Tensor> given = tensors_in(call[0]);
  const auto count = static_cast<int>(given.size());
  if (count == 0 || count > kMostSortKeys) return nullptr;
  const std::optional<int> axis = known_axis(call[1], given[0].ndim());
  if (!axis) return nullptr;
  const Tensor* keys[kMostSortKeys];
  for (int k = 0; k < count; ++k) {
    if (given[k].shape != given[0].shape) return nullptr;
    keys[k] = &given[k];
  }
  Tensor out;
  return lexsort_here(issuer(), find_sort(DType::u64), keys, count, *axis, &out)
             ? wrap(std::move(out))
             : nullptr;
}

}  // namespace

const NativeRow kIndexingPaths[] = {{"place", masked_path<place_here>},
                                    {"putmask", masked_path<put_masked_here>},
                                    {"fill_diagonal", fill_diagonal_path},
                                    {"compress", compress_path},
                                    {"extract", extract_path},
                                    {"put", put_path},
                                    {"put_along_axis", put_along_axis_path},
                                    {"take_along_axis", take_along_axis_path},
                                    {"choose", choose_path},
                                    {"unravel_index", unravel_path},
                                    {"ravel_multi_index", ravel_path},
                                    {"indices", indices_path},
                                    {"tril_indices", triangle_indices_path<Places::below>},
                                    {"triu_indices", triangle_indices_path<Places::above>},
                                    {"copyto", copyto_path},
                                    {"lexsort", lexsort_path},
                                    {nullptr, nullptr}};

}  // namespace ofl::python
