// x[key] and x[key] = value: a view where the key has no arrays, else a gather or a scatter.
#include "python/bind.h"
#include "python/convert.h"
#include "python/index_key.h"
#include "python/runtime.h"
#include "python/tensor_object.h"

namespace py = pybind11;

namespace ofl::python {

namespace {

Tensor value_tensor(PyObject* value, const Tensor& target) {
  if (is_tensor(value)) return tensor_of(value);
  PyObject* array = checked(PyArray_FROM_O(value));
  try {
    Tensor tensor = from_array(reinterpret_cast<PyArrayObject*>(array), target.device());
    Py_DECREF(array);
    return tensor;
  } catch (const std::exception&) {
    Py_DECREF(array);
    throw;
  }
}

void require_castable(const char* op, const Tensor& source, DType target) {
  if (info(source.dtype).kind != DTypeKind::complex || target == DType::b1 ||
      info(target).kind == DTypeKind::complex) {
    return;
  }
  fail(ErrorKind::type, "[", op, "] cannot assign ", name_of(source.dtype), " to ", name_of(target),
       "; take flow.real() or flow.imag() first");
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

void assign_selected(const Selection& selection, PyObject* value, const char* op) {
  const DType dtype = selection.x.dtype;
  if (is_scalar(value, op)) {
    return scatter(issuer(), op, selection, to_scalar(value, dtype));
  }
  const Tensor source = value_tensor(value, selection.x);
  require_castable(op, source, dtype);
  scatter(issuer(), op, selection, source);
}

}  // namespace

void assign_value(const Tensor& target, PyObject* value, const char* op) {
  if (is_scalar(value, op)) {
    return fill(issuer(), target, to_scalar(value, target.dtype), op);
  }
  const Tensor source = value_tensor(value, target);
  require_castable(op, source, target.dtype);
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

void set_item(const Tensor& x, PyObject* key, PyObject* value, const char* op) {
  const Indexed indexed = parse_key(x, key, op);
  if (indexed.selection) {
    assign_selected(*indexed.selection, value, op);
  } else {
    assign_value(indexed.view, value, op);
  }
}

}  // namespace

PyObject* tensor_subscript(PyObject* self, PyObject* key) {
  return guarded<PyObject*>(nullptr,
                            [&] { return wrap(get_item(tensor_of(self), key, "getitem")); });
}

int tensor_assign_subscript(PyObject* self, PyObject* key, PyObject* value) {
  return guarded(-1, [&] {
    if (!value) fail(ErrorKind::type, "[setitem] elements of a tensor cannot be deleted");
    set_item(tensor_of(self), key, value, "setitem");
    return 0;
  });
}

PyObject* tensor_item(PyObject* self, Py_ssize_t i) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    PyObject* key = checked(PyLong_FromSsize_t(i));
    PyObject* item = tensor_subscript(self, key);
    Py_DECREF(key);
    return item;
  });
}

namespace {

py::object wrapped(Tensor&& tensor) {
  return py::reinterpret_steal<py::object>(wrap(std::move(tensor)));
}

py::object take(const py::object& x, const py::object& indices, int axis, int mode) {
  const Tensor& tensor = require_tensor(x.ptr(), "take");
  const int along = normalize_axis(axis, tensor.ndim(), "take");
  const auto out_of_range = static_cast<ops::OutOfRange>(mode);
  const Tensor array = index_array(indices.ptr(), tensor, along, out_of_range, "take");
  return wrapped(gather(issuer(), "take", select_along(tensor, along, array, out_of_range)));
}

py::object nonzero_of(const py::object& x, const std::string& name) {
  const char* op = intern(name);
  const Tensor& tensor = require_tensor(x.ptr(), op);
  if (tensor.ndim() == 0)
    fail(ErrorKind::value, "[", op, "] expected a dimension, got a 0-d tensor");
  const int64_t count = look_at_count(tensor, op);
  return wrapped(nonzero(issuer(), op, tensor, count));
}

}  // namespace

void bind_indexing(py::module_& m) {
  m.def("getitem", [](const py::object& x, const py::object& key, const std::string& name) {
    const char* op = intern(name);
    return wrapped(get_item(require_tensor(x.ptr(), op), key.ptr(), op));
  });
  m.def("setitem", [](const py::object& x, const py::object& key, const py::object& value,
                      const std::string& name) {
    const char* op = intern(name);
    set_item(require_tensor(x.ptr(), op), key.ptr(), value.ptr(), op);
  });
  m.def("index_array", [](const py::object& indices, const py::object& x, int axis, int mode,
                          const std::string& name) {
    const char* op = intern(name);
    return wrapped(index_array(indices.ptr(), require_tensor(x.ptr(), op), axis,
                               static_cast<ops::OutOfRange>(mode), op));
  });
  m.def("take", &take);
  m.def("nonzero", &nonzero_of);
}

}  // namespace ofl::python
