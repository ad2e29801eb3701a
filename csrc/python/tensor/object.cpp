#include "python/tensor/object.h"

#include <new>

#include "python/runtime.h"

namespace ofl::python {

PyTypeObject* tensor_type = nullptr;

namespace {

/// Objects that were let go, for the next tensors. With the GIL.
struct Spares {
  static constexpr int kMost = 128;
  TensorObject* objects[kMost];
  int count = 0;

  bool put(TensorObject* object) {
    if (count == kMost) return false;
    objects[count++] = object;
    return true;
  }
  /// Null where there is none.
  TensorObject* take() {
    if (count == 0) return nullptr;
    TensorObject* object = objects[--count];
    PyObject_Init(reinterpret_cast<PyObject*>(object), tensor_type);
    object->weakrefs = nullptr;
    return object;
  }
};
Spares spares;          // without storage and dimensions
Spares spare_elements;  // without dimensions; their storages can be used again

}  // namespace

void tensor_dealloc(PyObject* self) {
  auto* object = reinterpret_cast<TensorObject*>(self);
  PyTypeObject* type = Py_TYPE(self);
  if (object->weakrefs) PyObject_ClearWeakRefs(self);
  Tensor& tensor = object->tensor;
  const bool is_element =
      tensor.ndim() == 0 && tensor.storage && tensor.storage->is_reusable_element();
  if (!is_element || !spare_elements.put(object)) {
    tensor.storage.reset();
    tensor.shape.clear();
    tensor.strides.clear();
    if (!spares.put(object)) {
      tensor.~Tensor();
      type->tp_free(self);
    }
  }
  Py_DECREF(type);
}

const Tensor& require_tensor(PyObject* object, const char* op) {
  if (!is_tensor(object)) {
    fail(ErrorKind::type, "[", op, "] expected a tensor, got ", Py_TYPE(object)->tp_name);
  }
  return tensor_of(object);
}

TensorObject* new_tensor_object() {
  if (TensorObject* object = spares.take()) return object;
  auto* object = PyObject_New(TensorObject, tensor_type);
  if (!object) throw PythonErrorSet{};
  object->weakrefs = nullptr;
  new (&object->tensor) Tensor;
  return object;
}

TensorObject* new_element_object(DType dtype) {
  const size_t size = size_of(dtype);
  TensorObject* object = spare_elements.take();
  if (object) {
    object->tensor.storage->reuse(size);
  } else {
    object = new_tensor_object();
    vm::DeviceState& host = runtime().machine.state(Device{});
    object->tensor.storage =
        StorageRef::adopt(TensorStorage::make_small(host, static_cast<int64_t>(size)));
  }
  object->tensor.dtype = dtype;
  object->tensor.offset = 0;
  return object;
}

PyObject* wrap(Tensor&& tensor) {
  TensorObject* object = new_tensor_object();
  object->tensor = std::move(tensor);
  return reinterpret_cast<PyObject*>(object);
}

}  // namespace ofl::python
