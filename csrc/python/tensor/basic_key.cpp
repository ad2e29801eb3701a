#include "python/tensor/basic_key.h"

#include "python/arguments.h"
#include "python/runtime.h"
#include "python/tensor/unknown_extents.h"
#include "tensor/index/elements.h"

namespace ofl::python {

namespace {

bool is_basic(PyObject* key) {
  return known_integer(key) || PyTuple_CheckExact(key) || PySlice_Check(key) || key == Py_None ||
         key == Py_Ellipsis;
}

void push(Tensor* view, int64_t size, int64_t stride) {
  view->shape.push_back(size);
  view->strides.push_back(stride);
}

/// Appends the dimensions from `axis` on.
void keep_from(const Tensor& x, int axis, Tensor* view) {
  for (int d = axis; d < x.ndim(); ++d) push(view, x.shape[d], x.strides[d]);
}

/// Goes to an integer along a dimension; false when it is out of range.
bool add_index(const Tensor& x, int axis, int64_t given, int64_t* offset) {
  const int64_t size = x.shape[axis];
  const int64_t index = given < 0 ? given + size : given;
  if (index < 0 || index >= size) return false;
  *offset += index * x.strides[axis];
  return true;
}

/// The settled element of a tensor of int64.
std::optional<int64_t> settled_index(PyObject* object) {
  const Tensor* x = tensor_or_null(object);
  if (!x || x->ndim() != 0 || x->dtype != DType::i64) return std::nullopt;
  const char* const data = settled_data(runtime().machine, *x->storage);
  if (!data) return std::nullopt;
  int64_t index;
  copy_element(data + x->offset, sizeof index, &index);
  return index;
}

/// An integer, None for `absent`, or an unknown extent along an axis that may have one.
bool read_bound(PyObject* object, int64_t size, Py_ssize_t absent, Py_ssize_t* bound) {
  *bound = absent;
  if (object == Py_None) return true;
  std::optional<int64_t> number = known_integer(object);
  if (!number && size >= kLeastStandIn) number = stand_in_of(object);
  if (number) *bound = static_cast<Py_ssize_t>(*number);
  return number.has_value();
}

bool take_slice(const Tensor& x, int axis, PyObject* key, Tensor* view) {
  const auto& bounds = *reinterpret_cast<PySliceObject*>(key);
  Py_ssize_t start, stop, step;
  const int64_t size = x.shape[axis];
  if (!read_bound(bounds.step, 0, 1, &step) || step == 0 || step < -PY_SSIZE_T_MAX) return false;
  const bool back = step < 0;
  if (!read_bound(bounds.start, size, back ? PY_SSIZE_T_MAX : 0, &start) ||
      !read_bound(bounds.stop, size, back ? PY_SSIZE_T_MIN : PY_SSIZE_T_MAX, &stop)) {
    return false;
  }
  const int64_t stride = x.strides[axis];
  const Py_ssize_t length = PySlice_AdjustIndices(size, &start, &stop, step);
  if (length > 0) view->offset += start * stride;
  push(view, length, length > 1 ? step * stride : stride);
  return true;
}

/// The items of a key, of which one may be an ellipsis.
bool take_items(const Tensor& x, PyObject* const* items, Py_ssize_t count, Tensor* view) {
  Py_ssize_t taking = 0;  // dimensions of x
  bool ellipsis = false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (items[i] == Py_Ellipsis) {
      if (ellipsis) return false;
      ellipsis = true;
    } else {
      taking += items[i] != Py_None;
    }
  }
  if (taking > x.ndim() || x.ndim() + count - taking > kMaxDims) return false;
  int axis = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (items[i] == Py_None) {
      push(view, 1, 0);
    } else if (items[i] == Py_Ellipsis) {
      for (auto rest = x.ndim() - taking; rest > 0; --rest, ++axis) {
        push(view, x.shape[axis], x.strides[axis]);
      }
    } else if (PySlice_Check(items[i])) {
      if (!take_slice(x, axis++, items[i], view)) return false;
    } else {
      const std::optional<int64_t> given = known_integer(items[i]);
      if (!given || !add_index(x, axis++, *given, &view->offset)) return false;
    }
  }
  keep_from(x, axis, view);
  return true;
}

}  // namespace

bool basic_view(const Tensor& x, PyObject* key, Tensor* view) {
  if (!is_basic(key)) return false;
  const bool tuple = PyTuple_CheckExact(key);
  view->offset = x.offset;
  if (!take_items(x, tuple ? &PyTuple_GET_ITEM(key, 0) : &key, tuple ? PyTuple_GET_SIZE(key) : 1,
                  view)) {
    return false;
  }
  view->storage = x.storage;
  view->dtype = x.dtype;
  return true;
}

std::optional<int64_t> element_offset(const Tensor& x, PyObject* key) {
  const bool tuple = PyTuple_CheckExact(key);
  PyObject* const* items = tuple ? &PyTuple_GET_ITEM(key, 0) : &key;
  if ((tuple ? PyTuple_GET_SIZE(key) : 1) != x.ndim()) return std::nullopt;
  int64_t offset = x.offset;
  for (int axis = 0; axis < x.ndim(); ++axis) {
    std::optional<int64_t> given = known_integer(items[axis]);
    if (!given) given = settled_index(items[axis]);
    if (!given || !add_index(x, axis, *given, &offset)) return std::nullopt;
  }
  return offset;
}

Tensor element_view(const Tensor& x, int64_t offset) {
  Tensor element;
  element.storage = x.storage;
  element.dtype = x.dtype;
  element.offset = offset;
  return element;
}

PyObject* copied_element(const Tensor& x, int64_t offset) {
  if (const char* data = settled_data(runtime().machine, *x.storage)) {
    TensorObject* object = new_element_object(x.dtype);
    copy_element(data + offset, size_of(x.dtype), object->tensor.storage->data());
    return reinterpret_cast<PyObject*>(object);
  }
  return wrap(cast_copy(issuer(), element_view(x, offset), x.dtype, "getitem"));
}

PyObject* basic_item(const Tensor& x, PyObject* key) {
  if (const std::optional<int64_t> index = known_integer(key)) return item_at(x, *index);
  if (!is_basic(key)) return nullptr;
  if (PyTuple_CheckExact(key)) {
    if (const auto offset = element_offset(x, key)) return copied_element(x, *offset);
  }
  TensorObject* object = new_tensor_object();
  if (basic_view(x, key, &object->tensor)) return reinterpret_cast<PyObject*>(object);
  Py_DECREF(object);
  return nullptr;
}

PyObject* item_at(const Tensor& x, int64_t index) {
  int64_t offset = x.offset;
  if (x.ndim() == 0 || !add_index(x, 0, index, &offset)) return nullptr;
  if (x.ndim() == 1) return copied_element(x, offset);
  TensorObject* object = new_tensor_object();
  Tensor& view = object->tensor;
  view.storage = x.storage;
  view.dtype = x.dtype;
  view.offset = offset;
  keep_from(x, 1, &view);
  return reinterpret_cast<PyObject*>(object);
}

}  // namespace ofl::python
