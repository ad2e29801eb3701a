// Basic indexing: integers, slices, Ellipsis, None, and tuples of them. Always a view.
#include "python/convert.h"
#include "python/runtime.h"
#include "python/tensor_object.h"

namespace ofl::python {

namespace {

/// Every ndarray has __index__, and most of them refuse.
bool is_integer_index(PyObject* key) {
  if (!PyIndex_Check(key) || PyBool_Check(key)) return false;
  return !PyArray_Check(key) || PyArray_NDIM(reinterpret_cast<PyArrayObject*>(key)) == 0;
}

/// Builds a view of `x` axis by axis.
class Indexer {
 public:
  explicit Indexer(const Tensor& x) : x_(x), view_(x) {
    view_.shape.clear();
    view_.strides.clear();
  }

  void apply(PyObject* key) {
    if (!PyTuple_Check(key)) {
      apply_all(&key, 1);
    } else {
      apply_all(&PyTuple_GET_ITEM(key, 0), PyTuple_GET_SIZE(key));
    }
  }
  Tensor take() { return std::move(view_); }

 private:
  void apply_all(PyObject* const* keys, Py_ssize_t count) {
    int consumed = 0;
    bool ellipsis = false;
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (keys[i] == Py_Ellipsis) {
        if (ellipsis) fail(ErrorKind::index, "[getitem] more than one ellipsis");
        ellipsis = true;
      } else if (keys[i] != Py_None) {
        ++consumed;
      }
    }
    if (consumed > x_.ndim()) {
      fail(ErrorKind::index, "[getitem] ", consumed, " indices for ", x_.ndim(), " dimensions");
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (keys[i] == Py_Ellipsis) {
        keep(x_.ndim() - consumed);
      } else {
        apply_one(keys[i]);
      }
    }
    keep(x_.ndim() - axis_);
    if (view_.ndim() > kMaxDims) {
      fail(ErrorKind::index, "[getitem] at most ", kMaxDims, " dimensions, got ", view_.ndim());
    }
  }

  void apply_one(PyObject* key) {
    if (key == Py_None) {
      push(1, 0);
    } else if (PySlice_Check(key)) {
      slice(key);
    } else if (is_integer_index(key)) {
      element(key);
    } else {
      fail(ErrorKind::index, "[getitem] indices must be integers, slices, ... or None, got ",
           Py_TYPE(key)->tp_name);
    }
  }

  void element(PyObject* key) {
    const Py_ssize_t given = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (given == -1 && PyErr_Occurred()) throw PythonErrorSet{};
    const int64_t size = x_.shape[axis_];
    const int64_t index = given < 0 ? given + size : given;
    if (index < 0 || index >= size) {
      fail(ErrorKind::index, "[getitem] index ", given, " is out of bounds for axis ", axis_,
           " with size ", size);
    }
    view_.offset += index * x_.strides[axis_];
    ++axis_;
  }

  void slice(PyObject* key) {
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(key, &start, &stop, &step) < 0) throw PythonErrorSet{};
    const Py_ssize_t length = PySlice_AdjustIndices(x_.shape[axis_], &start, &stop, step);
    if (length > 0) view_.offset += start * x_.strides[axis_];
    push(length, length > 1 ? step * x_.strides[axis_] : x_.strides[axis_]);
    ++axis_;
  }

  void keep(int count) {
    for (int i = 0; i < count; ++i, ++axis_) push(x_.shape[axis_], x_.strides[axis_]);
  }

  void push(int64_t size, int64_t stride) {
    view_.shape.push_back(size);
    view_.strides.push_back(stride);
  }

  const Tensor& x_;
  Tensor view_;
  int axis_ = 0;  // of x_, the next to index
};

Tensor index(const Tensor& x, PyObject* key) {
  Indexer indexer(x);
  indexer.apply(key);
  return indexer.take();
}

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

}  // namespace

void assign_value(const Tensor& target, PyObject* value, const char* op) {
  ops::TypeCode code;
  if (!is_tensor(value) && classify(value, &code, op) == OperandKind::scalar) {
    return fill(issuer(), target, to_scalar(value, target.dtype), op);
  }
  const Tensor source = value_tensor(value, target);
  if (info(source.dtype).kind == DTypeKind::complex &&
      info(target.dtype).kind != DTypeKind::complex && target.dtype != DType::b1) {
    fail(ErrorKind::type, "[", op, "] cannot assign ", name_of(source.dtype), " to ",
         name_of(target.dtype), "; take flow.real() or flow.imag() first");
  }
  Tensor trimmed = source;  // NumPy lets leading dimensions of size 1 go
  while (trimmed.ndim() > target.ndim() && trimmed.shape[0] == 1) {
    Dims rest;
    for (int d = 1; d < trimmed.ndim(); ++d) rest.push_back(trimmed.shape[d]);
    trimmed = *reshape_view(trimmed, rest);
  }
  assign(issuer(), target, broadcast_view(trimmed, target.shape, op), op);
}

PyObject* tensor_subscript(PyObject* self, PyObject* key) {
  return guarded<PyObject*>(nullptr, [&] { return wrap(index(tensor_of(self), key)); });
}

int tensor_assign_subscript(PyObject* self, PyObject* key, PyObject* value) {
  return guarded(-1, [&] {
    if (!value) fail(ErrorKind::type, "[setitem] elements of a tensor cannot be deleted");
    assign_value(index(tensor_of(self), key), value, "setitem");
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

}  // namespace ofl::python
