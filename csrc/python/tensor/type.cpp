#include "python/tensor/type.h"

#include <structmember.h>

#include <iterator>

#include "python/arguments.h"
#include "python/convert.h"
#include "python/engine/call.h"
#include "python/machine/device_object.h"
#include "python/runtime.h"
#include "python/tensor/unknown_extents.h"

namespace ofl::python {

namespace {

/// Tensor(number): how functions of the standard library, as statistics.mean, make a result of the
/// type of their operands.
PyObject* tensor_new(PyTypeObject*, PyObject* arguments, PyObject* keywords) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    PyObject* number =
        PyTuple_GET_SIZE(arguments) == 1 && !keywords ? PyTuple_GET_ITEM(arguments, 0) : nullptr;
    if (!number || !PyNumber_Check(number) || PyComplex_Check(number)) {
      fail(ErrorKind::type, "[Tensor] expected one real number; tensors are made by flow.tensor()");
    }
    const DType dtype = PyLong_Check(number) ? DType::i64 : DType::f64;
    const Reference value(
        checked(dtype == DType::i64 ? PyNumber_Long(number) : PyNumber_Float(number)));
    return wrap(full(issuer(), default_device(), dtype, Dims{}, to_scalar(value.get(), dtype)));
  });
}

PyObject* shape_of(PyObject* self) {
  const Reference numbers(dims_tuple(tensor_of(self).shape));
  return shape_with_unknown(self, numbers.get());
}

/// The first extent; throws where it is not known.
Py_ssize_t known_length(PyObject* self) {
  const Reference shape(shape_of(self));
  const Py_ssize_t length =
      PyNumber_AsSsize_t(PyTuple_GET_ITEM(shape.get(), 0), PyExc_OverflowError);
  if (length == -1 && PyErr_Occurred()) throw PythonErrorSet{};
  return length;
}

/// The product of the extents, some of them unknown, and a number.
PyObject* product_with_unknown(PyObject* self, int64_t factor) {
  const Reference shape(shape_of(self));
  Reference product(checked(PyLong_FromLongLong(factor)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape.get()); ++i) {
    PyObject* const extent = PyTuple_GET_ITEM(shape.get(), i);
    product = Reference(checked(PyNumber_Multiply(product.get(), extent)));
  }
  return product.release();
}

Py_ssize_t tensor_length(PyObject* self) {
  return guarded<Py_ssize_t>(-1, [&]() -> Py_ssize_t {
    const Tensor& x = tensor_of(self);
    if (x.ndim() == 0) fail(ErrorKind::type, "[len] expected a dimension, got a 0-d tensor");
    if (may_have_stand_ins(x)) return known_length(self);
    return x.shape[0];
  });
}

PyObject* tensor_iter(PyObject* self) {
  return guarded<PyObject*>(nullptr, [&] {
    const Tensor& x = tensor_of(self);
    if (x.ndim() == 0) fail(ErrorKind::type, "[iter] expected a dimension, got a 0-d tensor");
    if (may_have_stand_ins(x)) known_length(self);
    return PySeqIter_New(self);
  });
}

Tensor transposed(const Tensor& x, const char* name) {
  if (x.ndim() < 2) {
    fail(ErrorKind::value, "[", name, "] expected at least 2 dimensions, got shape ",
         shape_str(x.shape));
  }
  SmallVector<int, 4> axes;
  for (int d = 0; d < x.ndim(); ++d) axes.push_back(d);
  std::swap(axes[x.ndim() - 1], axes[x.ndim() - 2]);
  return permute_view(x, axes);
}

Tensor component(const Tensor& x, int part) {
  if (info(x.dtype).kind == DTypeKind::complex) return component_view(x, part);
  if (part == 0) return x;
  const Issuer from = issuer();
  Tensor zeros = make_tensor(x.storage->state(), x.dtype, x.shape, from.site);
  if (!x.contiguous() && reversed_view(x).contiguous()) zeros.strides = x.strides;  // by columns
  return full(from, std::move(zeros), Scalar{});
}

/// An index of item(), counted from 0.
int64_t item_index(PyObject* object, int64_t size) {
  if (PyBool_Check(object)) fail(ErrorKind::type, "[item] expected an integer, got bool");
  if (!PyIndex_Check(object)) {
    fail(ErrorKind::type, "[item] expected an integer, got ", Py_TYPE(object)->tp_name);
  }
  const int64_t given = index_argument(object, "item");
  if (given < -size || given >= size) {
    fail(ErrorKind::index, "[item] index ", given, " is out of bounds for size ", size);
  }
  return given < 0 ? given + size : given;
}

/// The element at a row-major position.
Tensor element_at(const Tensor& x, int64_t position) {
  Tensor element = x;
  for (int d = x.ndim() - 1; d >= 0; --d) {
    element.offset += position % x.shape[d] * x.strides[d];
    position /= x.shape[d];
  }
  element.shape.clear();
  element.strides.clear();
  return element;
}

/// item(i): in the flattened tensor; item(i, j): an index for each dimension.
Tensor item_at(const Tensor& x, PyObject* const* indices, Py_ssize_t count) {
  if (count == 1 && x.ndim() != 1) return element_at(x, item_index(indices[0], x.size()));
  if (count != x.ndim()) {
    fail(ErrorKind::value, "[item] expected one index or ", x.ndim(), ", got ", count);
  }
  int64_t position = 0;
  for (int d = 0; d < x.ndim(); ++d) {
    position = position * x.shape[d] + item_index(indices[d], x.shape[d]);
  }
  return element_at(x, position);
}

PyObject* tensor_item_method(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const Tensor& x = tensor_of(self);
    if (count == 1 && PyTuple_CheckExact(arguments[0])) {
      PyObject* indices = arguments[0];
      arguments = &PyTuple_GET_ITEM(indices, 0);
      count = PyTuple_GET_SIZE(indices);
    }
    if (count == 0) return element_of(x, "item");
    return element_of(item_at(x, arguments, count), "item");
  });
}

constexpr int64_t kSmallCopy = 65536;  // bytes; a larger one is divided

PyObject* tensor_numpy(PyObject* self, PyObject*) {
  return guarded<PyObject*>(nullptr, [&] {
    const Tensor& x = tensor_of(self);
    vm::VirtualMachine& machine = runtime().machine;
    if (!readable_here(machine, x, kSmallCopy)) {
      return array_over(look_from_python(x, "numpy"), true);
    }
    machine.note_look();
    return array_of(x);
  });
}

PyObject* tensor_complex(PyObject* self, PyObject*) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    PyObject* element = checked(number_of(self, "complex"));
    const Py_complex value = PyComplex_AsCComplex(element);
    Py_DECREF(element);
    return PyErr_Occurred() ? nullptr : PyComplex_FromCComplex(value);
  });
}

PyObject* tensor_is_contiguous(PyObject* self, PyObject*) {
  return PyBool_FromLong(tensor_of(self).contiguous());
}

PyObject* tensor_ready(PyObject* self, PyObject*) {
  return guarded<PyObject*>(nullptr, [&] { return ready_of(tensor_of(self)); });
}

PyObject* tensor_is_ready(PyObject* self, PyObject*) {
  return PyBool_FromLong(runtime().machine.is_ready(tensor_of(self).storage->dependence()));
}

PyObject* tensor_shares_storage(PyObject* self, PyObject* other) {
  return guarded<PyObject*>(nullptr, [&] {
    const Tensor& y = require_tensor(other, "shares_storage");
    return PyBool_FromLong(distance(tensor_of(self), y).has_value());
  });
}

template <typename Get>
PyObject* get(PyObject* self, const Get& getter) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* { return getter(tensor_of(self)); });
}

PyObject* get_shape(PyObject* self, void*) {
  return get(self, [self](const Tensor& x) {
    return may_have_stand_ins(x) ? shape_of(self) : dims_tuple(x.shape);
  });
}
PyObject* get_strides(PyObject* self, void*) {
  return get(self, [self](const Tensor& x) {
    PyObject* const numbers = dims_tuple(x.strides);
    return may_have_unknown_strides(x) ? known_strides(self, Reference(numbers).get()) : numbers;
  });
}
PyObject* get_dtype(PyObject* self, void*) {
  return get(self, [](const Tensor& x) {
    auto* descr = reinterpret_cast<PyObject*>(descr_of(x.dtype));
    Py_INCREF(descr);
    return descr;
  });
}
PyObject* get_device(PyObject* self, void*) {
  return get(self, [](const Tensor& x) { return device_object(x.device()); });
}
PyObject* get_ndim(PyObject* self, void*) {
  return get(self, [](const Tensor& x) { return PyLong_FromLong(x.ndim()); });
}
PyObject* get_size(PyObject* self, void*) {
  return get(self, [self](const Tensor& x) {
    return may_have_stand_ins(x) ? product_with_unknown(self, 1) : PyLong_FromLongLong(x.size());
  });
}
PyObject* get_itemsize(PyObject* self, void*) {
  return get(self, [](const Tensor& x) { return PyLong_FromSize_t(size_of(x.dtype)); });
}
PyObject* get_nbytes(PyObject* self, void*) {
  return get(self, [self](const Tensor& x) {
    const auto itemsize = static_cast<int64_t>(size_of(x.dtype));
    return may_have_stand_ins(x) ? product_with_unknown(self, itemsize)
                                 : PyLong_FromLongLong(x.size() * itemsize);
  });
}
PyObject* get_t(PyObject* self, void*) {
  return get(self, [](const Tensor& x) { return wrap(reversed_view(x)); });
}
PyObject* get_mt(PyObject* self, void*) {
  return get(self, [](const Tensor& x) { return wrap(transposed(x, "mT")); });
}
PyObject* get_real(PyObject* self, void*) {
  return get(self, [](const Tensor& x) { return wrap(component(x, 0)); });
}
PyObject* get_imag(PyObject* self, void*) {
  return get(self, [](const Tensor& x) { return wrap(component(x, 1)); });
}

constexpr char kTensorDoc[] =
    "A strided view (dtype, shape, strides) of a storage on a device.\n\n"
    "Made by ``flow.tensor`` and the creation functions. Operations return at once; looking at "
    "the\n"
    "value (``numpy()``, ``item()``, ``print``) waits for this tensor, and raises what made it "
    "fail.\n\n"
    "Examples\n--------\n"
    ">>> x = flow.tensor([1.0, 2.0])\n"
    ">>> (x + 1).tolist()\n"
    "[2.0, 3.0]";

PyGetSetDef getset[] = {
    {"shape", get_shape, nullptr, "Sizes of the dimensions.", nullptr},
    {"strides", get_strides, nullptr, "Bytes from one element to the next.", nullptr},
    {"dtype", get_dtype, nullptr, "Type of the elements.", nullptr},
    {"device", get_device, nullptr, "Where the elements are.", nullptr},
    {"ndim", get_ndim, nullptr, "Number of dimensions.", nullptr},
    {"size", get_size, nullptr, "Number of elements.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of one element.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes of all elements.", nullptr},
    {"T", get_t, nullptr, "A view with the dimensions reversed.", nullptr},
    {"mT", get_mt, nullptr, "A view with the last two dimensions swapped.", nullptr},
    {"real", get_real, nullptr, "The real part: a view of a complex tensor.", nullptr},
    {"imag", get_imag, nullptr, "The imaginary part: a view of a complex tensor.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef methods[] = {
    {"item", reinterpret_cast<PyCFunction>(slot_pointer(tensor_item_method)), METH_FASTCALL,
     "item($self, /, *indices)\n--\n\n"
     "The only element, or the one at an index, as a Python number; waits for it. One index "
     "counts in row-major order."},
    {"numpy", tensor_numpy, METH_NOARGS,
     "numpy($self, /)\n--\n\n"
     "The value as a NumPy array of its own; waits for it."},
    {"__complex__", tensor_complex, METH_NOARGS,
     "__complex__($self, /)\n--\n\n"
     "The only element as a complex number."},
    {"is_contiguous", tensor_is_contiguous, METH_NOARGS,
     "is_contiguous($self, /)\n--\n\n"
     "True when the elements lie in row-major order without gaps."},
    {"is_ready", tensor_is_ready, METH_NOARGS,
     "is_ready($self, /)\n--\n\n"
     "True when looking at it would not wait."},
    {"ready", tensor_ready, METH_NOARGS,
     "ready($self, /)\n--\n\n"
     "A Completion that is over when its last write is."},
    {"shares_storage", tensor_shares_storage, METH_O,
     "shares_storage($self, other, /)\n--\n\n"
     "True when both are views of one storage, or of shared memory that overlaps."},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

}  // namespace

void init_tensor_type(PyObject* module) {
  std::vector<PyType_Slot> slots = tensor_number_slots();
  const PyType_Slot others[] = {{Py_tp_doc, const_cast<char*>(kTensorDoc)},
                                {Py_tp_new, slot_pointer(tensor_new)},
                                {Py_tp_dealloc, slot_pointer(tensor_dealloc)},
                                {Py_tp_richcompare, slot_pointer(tensor_richcompare)},
                                {Py_tp_hash, slot_pointer(PyObject_HashNotImplemented)},
                                {Py_tp_iter, slot_pointer(tensor_iter)},
                                {Py_mp_length, slot_pointer(tensor_length)},
                                {Py_mp_subscript, slot_pointer(tensor_subscript)},
                                {Py_mp_ass_subscript, slot_pointer(tensor_assign_subscript)},
                                {Py_sq_length, slot_pointer(tensor_length)},
                                {Py_sq_item, slot_pointer(tensor_item)},
                                {Py_bf_getbuffer, slot_pointer(tensor_get_buffer)},
                                {Py_bf_releasebuffer, slot_pointer(tensor_release_buffer)},
                                {Py_tp_methods, methods},
                                {Py_tp_members, members},
                                {Py_tp_getset, getset},
                                {0, nullptr}};
  slots.insert(slots.end(), std::begin(others), std::end(others));
  PyType_Spec spec = {"oneflow_lite._C.Tensor", sizeof(TensorObject), 0, Py_TPFLAGS_DEFAULT,
                      slots.data()};
  tensor_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  if (PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type)) < 0) {
    throw PythonErrorSet{};
  }
}

}  // namespace ofl::python
