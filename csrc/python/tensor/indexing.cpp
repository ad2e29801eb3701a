// x[key] and x[key] = value: a view where the key has no arrays, else a gather or a scatter.
#include "base/casting.h"
#include "python/arguments.h"
#include "python/bind.h"
#include "python/convert.h"
#include "python/runtime.h"
#include "python/sequences.h"
#include "python/slots.h"
#include "python/tensor/basic_key.h"
#include "python/tensor/functions.h"
#include "python/tensor/index_key.h"
#include "python/tensor/type.h"
#include "python/tensor/unknown_extents.h"
#include "tensor/index/elements.h"

namespace ofl::python {

namespace {

PyArrayObject* array_of(const Reference& object) {
  return reinterpret_cast<PyArrayObject*>(object.get());
}

/// Whether this is what NumPy made of a sequence whose integers do not all fit in 64 bits.
bool holds_numbers(PyArrayObject* array) {
  if (PyArray_TYPE(array) != NPY_OBJECT || PyArray_SIZE(array) == 0) return false;
  // An object's __array__ may return a strided one.
  const Reference held(checked(reinterpret_cast<PyObject*>(PyArray_GETCONTIGUOUS(array))));
  PyObject* const* const items = static_cast<PyObject**>(PyArray_DATA(array_of(held)));
  return std::all_of(items, items + PyArray_SIZE(array), [](PyObject* item) {
    return item && (PyLong_Check(item) || PyFloat_Check(item));
  });
}

/// The value to write to a tensor. The items of a sequence become integers of its dtype one by one,
/// as in NumPy: one that does not fit is an OverflowError.
Tensor value_tensor(PyObject* value, const Tensor& target, const char* op) {
  if (is_tensor(value)) return tensor_of(value);
  const Reference data(held_data(value, op));
  const Reference array(checked(PyArray_FROM_O(data.get())));
  const bool is_wide = !PyArray_Check(value) && holds_numbers(array_of(array));
  DType dtype = target.dtype;
  if (is_wide && dtype != DType::b1 && !is_integer(dtype)) dtype = DType::f64;
  if (!is_wide) {
    const DType given = dtype_of(PyArray_DESCR(array_of(array)), op);
    if (PyArray_Check(value) || given == dtype || !is_integer(dtype)) {
      return from_array(array_of(array), target.device());
    }
  }
  PyArray_Descr* wanted = descr_of(dtype);
  Py_INCREF(wanted);
  const Reference cast(
      checked(PyArray_FromAny(data.get(), wanted, 0, 0, NPY_ARRAY_FORCECAST, nullptr)));
  return from_array(array_of(cast), target.device());
}

/// True for a Python or NumPy number.
bool is_scalar(PyObject* value, const char* op) {
  ops::TypeCode code;
  return !is_tensor(value) && classify(value, &code, op) == OperandKind::scalar;
}

/// What a key selects, as a new tensor; a mask that is not counted is looked at.
Tensor read_selected(Selection selection, const char* op) {
  if (selection.mask && selection.picked[0] < 0) {
    selection.picked[0] = look_at_count(*selection.mask, op);
  }
  return gather(issuer(), op, selection);
}

/// `is_whole`: the key is one mask, and nothing else.
void assign_selected(const Selection& selection, PyObject* value, bool is_whole, const char* op) {
  const DType dtype = selection.x.dtype;
  if (is_slot(value)) {
    const Input number = number_input(value, dtype);
    const Tensor source = full(issuer(), selection.x.device(), dtype, {}, number);
    return scatter(issuer(), op, selection, source);
  }
  if (is_scalar(value, op)) {
    return scatter(issuer(), op, selection, to_scalar(value, dtype));
  }
  const Tensor source = value_tensor(value, selection.x, op);
  const bool is_mask = is_whole && selection.mask && selection.x.ndim() == selection.mask->ndim() &&
                       element_count(selection.x.shape) == element_count(selection.mask->shape);
  if (is_mask && source.ndim() > 1) {
    fail(ErrorKind::type, "[", op, "] expected values of at most one dimension for a mask, got ",
         shape_str(source.shape));
  }
  require_castable(op, source.dtype, dtype, Casting::unsafe);
  scatter(issuer(), op, selection, source);
}

}  // namespace

void assign_value(const Tensor& target, PyObject* value, const char* op) {
  if (is_scalar(value, op)) {
    const Input number = number_input(value, target.dtype);
    if (target.ndim() == 0 && write_element(runtime().machine, *target.storage, target.offset,
                                            target.dtype, number.scalar)) {
      return;
    }
    return fill(issuer(), target, number, op);
  }
  const Tensor source = value_tensor(value, target, op);
  require_castable(op, source.dtype, target.dtype, Casting::unsafe);
  const Tensor trimmed = without_leading(source, target.ndim());
  assign(issuer(), target, broadcast_view(trimmed, target.shape, op), op);
}

namespace {

Tensor get_item(const Tensor& x, PyObject* key, const char* op) {
  Indexed indexed = parse_key(x, key, op);
  if (indexed.selection) return read_selected(std::move(*indexed.selection), op);
  if (!indexed.copy) return std::move(indexed.view);
  return cast_copy(issuer(), indexed.view, indexed.view.dtype, op);
}

/// The key is one array or mask, and nothing else.
bool is_one_key(PyObject* key) {
  if (!PyTuple_Check(key)) return true;
  return PyTuple_GET_SIZE(key) == 1 && PyTuple_GET_ITEM(key, 0) != Py_Ellipsis;
}

bool has_ellipsis(PyObject* key) {
  if (!PyTuple_Check(key)) return key == Py_Ellipsis;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) {
    if (PyTuple_GET_ITEM(key, i) == Py_Ellipsis) return true;
  }
  return false;
}

/// x[i, j] = value writes one number, and no sequence or array of one, as in NumPy.
void assign_element(const Tensor& element, PyObject* value, const char* op) {
  if (is_tensor(value)) {
    const Tensor& source = tensor_of(value);
    if (source.ndim() == 0) return assign_value(element, value, op);
    if (element.dtype == DType::b1 && source.size() == 1) {  // which has a truth
      const Reference number(wrap(*reshape_view(source, {})));
      return assign_value(element, number.get(), op);
    }
    fail(ErrorKind::value, "[", op, "] expected a number for one element, got shape ",
         shape_str(source.shape));
  }
  if (is_scalar(value, op)) return assign_value(element, value, op);
  const Reference data(held_data(value, op));
  const Reference array(checked(PyArray_FROM_O(data.get())));
  dtype_of(PyArray_DESCR(array_of(array)), op);  // throws for strings and objects
  if (PyArray_NDIM(array_of(array)) == 0) return assign_value(element, array.get(), op);
  fill(issuer(), element, to_scalar(data.get(), element.dtype), op);  // NumPy's error, but for bool
}

void set_item(const Tensor& x, PyObject* key, PyObject* value, const char* op) {
  const Indexed indexed = parse_key(x, key, op);
  if (indexed.selection) {
    assign_selected(*indexed.selection, value, is_one_key(key), op);
  } else if (indexed.view.ndim() == 0 && !has_ellipsis(key)) {
    assign_element(indexed.view, value, op);
  } else {
    assign_value(indexed.view, value, op);
  }
}

}  // namespace

namespace {

/// x[key] of a tensor where that takes no instruction; else null without an error.
PyObject* selected_object(const Tensor& x, PyObject* key) {
  if (const auto offset = element_offset(x, key)) return copied_element(x, *offset);
  const Tensor& selector = tensor_of(key);
  Reference made(reinterpret_cast<PyObject*>(new_tensor_object()));
  Tensor& tensor = reinterpret_cast<TensorObject*>(made.get())->tensor;
  return gather_here(issuer(), x, selector, &tensor) ? made.release() : nullptr;
}

}  // namespace

namespace {

/// What a key asks of an extent that is not known yet is written down.
void note(PyObject* self, PyObject* key) {
  const Tensor& x = tensor_of(self);
  if (!may_have_stand_ins(x)) return;
  const Reference numbers(dims_tuple(x.shape));
  note_key(self, numbers.get(), key);
}

}  // namespace

PyObject* tensor_subscript(PyObject* self, PyObject* key) {
  return guarded<PyObject*>(nullptr, [&] {
    note(self, key);
    const Tensor& x = tensor_of(self);
    PyObject* item = is_tensor(key) ? selected_object(x, key) : basic_item(x, key);
    return item ? item : wrap(get_item(x, key, "getitem"));
  });
}

namespace {

/// x[integers] = a number or an element, where that takes no instruction; else false.
bool set_element(const Tensor& x, PyObject* key, PyObject* value) {
  const bool is_element = is_tensor(value) && tensor_of(value).ndim() == 0;
  Scalar number;
  const bool is_number = !is_element && store_number(value, x.dtype, &number);
  if (is_slot(value)) return false;
  if (!is_number && !is_element && !is_scalar(value, "setitem")) return false;
  const std::optional<int64_t> offset = element_offset(x, key);
  if (!offset) return false;
  vm::VirtualMachine& machine = runtime().machine;
  TensorStorage& storage = *x.storage;
  if (is_element) return write_element(machine, storage, *offset, x.dtype, tensor_of(value));
  if (!is_number) number = to_scalar(value, x.dtype);
  return write_element(machine, storage, *offset, x.dtype, number);
}

/// x[selector] = value, where that takes no instruction; else false.
bool set_selected(const Tensor& x, PyObject* key, PyObject* value, const char* op) {
  if (!is_tensor(key) || is_slot(value)) return false;
  const Tensor& selector = tensor_of(key);
  if (is_tensor(value)) return scatter_here(issuer(), x, selector, tensor_of(value));
  return is_scalar(value, op) && scatter_here(issuer(), x, selector, to_scalar(value, x.dtype));
}

}  // namespace

int tensor_assign_subscript(PyObject* self, PyObject* key, PyObject* value) {
  return guarded(-1, [&] {
    if (!value) fail(ErrorKind::type, "[setitem] elements of a tensor cannot be deleted");
    note(self, key);
    const Tensor& x = tensor_of(self);
    if (is_unknown_extent(value)) refuse_extents(value, "setitem");
    if (set_element(x, key, value) || set_selected(x, key, value, "setitem")) return 0;
    set_item(x, key, value, "setitem");
    return 0;
  });
}

PyObject* tensor_item(PyObject* self, Py_ssize_t i) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const Tensor& x = tensor_of(self);
    if (x.ndim() == 0) fail(ErrorKind::index, "[getitem] 1 indices for 0 dimensions");
    PyObject* item = item_at(x, i);
    if (!item) {  // each iteration ends so: no C++ exception
      return PyErr_Format(PyExc_IndexError,
                          "[getitem] index %zd is out of bounds for axis 0 with size %lld", i,
                          static_cast<long long>(x.shape[0]));
    }
    return item;
  });
}

namespace {

PyObject* getitem(Arguments given) {
  const char* op = name_argument(given[2]);
  return wrap(get_item(require_tensor(given[0], op), given[1], op));
}

PyObject* setitem(Arguments given) {
  const char* op = name_argument(given[3]);
  set_item(require_tensor(given[0], op), given[1], given[2], op);
  Py_RETURN_NONE;
}

PyObject* index_array_of(Arguments given) {
  const char* op = name_argument(given[4]);
  const auto mode = static_cast<ops::OutOfRange>(integer_argument(given[3]));
  return wrap(
      index_array(given[0], require_tensor(given[1], op), integer_argument(given[2]), mode, op));
}

PyObject* take(Arguments given) {
  const Tensor& tensor = require_tensor(given[0], "take");
  const int along = normalize_axis(integer_argument(given[2]), tensor.ndim(), "take");
  const auto mode = static_cast<ops::OutOfRange>(integer_argument(given[3]));
  return take_along(tensor, given[1], along, mode, "take");
}

PyObject* nonzero_of(Arguments given) {
  const char* op = name_argument(given[1]);
  const Tensor& tensor = require_tensor(given[0], op);
  if (tensor.ndim() == 0)
    fail(ErrorKind::value, "[", op, "] expected a dimension, got a 0-d tensor");
  const int64_t count = look_at_count(tensor, op);
  return wrap(nonzero(issuer(), op, tensor, count));
}

PyMethodDef functions[] = {positional<getitem, 3>("getitem"),
                           positional<setitem, 4>("setitem"),
                           positional<index_array_of, 5>("index_array"),
                           positional<take, 4>("take"),
                           positional<nonzero_of, 2>("nonzero"),
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* take_along(const Tensor& x, PyObject* indices, int axis, ops::OutOfRange mode,
                     const char* name) {
  const Tensor array = index_array(indices, x, axis, mode, name);
  return wrap(ofl::take(issuer(), name, select_along(x, axis, array, mode)));
}

void init_indexing(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
}

}  // namespace ofl::python
