// What the program of a call depends on, where its arguments are of common kinds.
#include "python/arguments.h"
#include "python/bind.h"
#include "python/runtime.h"

namespace ofl::python {

namespace {

constexpr Py_ssize_t kMostArguments = 64;  // places are found by looking through them

bool is_counted_by_value(PyObject* x) {
  return PyLong_CheckExact(x) || PyUnicode_CheckExact(x) || PyBool_Check(x) || x == Py_None;
}

bool is_number(PyObject* x) { return PyFloat_CheckExact(x) || PyComplex_CheckExact(x); }

class KeyBytes {
 public:
  void add(int64_t number) {
    const auto* from = reinterpret_cast<const char*>(&number);
    for (size_t i = 0; i < sizeof number; ++i) bytes_.push_back(from[i]);
  }
  void add(const Device& device) {
    add((static_cast<int64_t>(device.type) << 32) + device.index);
  }
  void add(const Tensor& x, int64_t place) {
    add((place << 16) + (static_cast<int64_t>(x.dtype) << 8) + x.ndim());
    add(x.device());
    for (const int64_t n : x.shape) add(n);
    for (const int64_t n : x.strides) add(n);
  }
  PyObject* object() const {
    return checked(PyBytes_FromStringAndSize(bytes_.data(), bytes_.size()));
  }

 private:
  SmallVector<char, 256> bytes_;
};

/// The place of an argument among the tensors so far; as many as there are: it is new.
Py_ssize_t place_of(PyObject* x, PyObject* tensors) {
  const Py_ssize_t count = PyList_GET_SIZE(tensors);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (PyList_GET_ITEM(tensors, i) == x) return i;
  }
  return count;
}

void append(PyObject* list, PyObject* x) {
  if (PyList_Append(list, x) < 0) throw PythonErrorSet{};
}

/// call_key(flag, args, tensors, numbers): a tuple; puts tensors, without those that come again,
/// and floats and complex numbers into the lists. None, without an effect, for other arguments.
PyObject* call_key(Arguments given) {
  PyObject *const args = given[1], *const tensors = given[2], *const numbers = given[3];
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  if (count > kMostArguments) Py_RETURN_NONE;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const x = PyTuple_GET_ITEM(args, i);
    if (!is_tensor(x) && !is_number(x) && !is_counted_by_value(x)) Py_RETURN_NONE;
  }
  const Reference values(checked(PyList_New(0)));
  append(values.get(), given[0]);
  KeyBytes bytes;
  bytes.add(default_device());
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const x = PyTuple_GET_ITEM(args, i);
    if (is_tensor(x)) {
      const Py_ssize_t place = place_of(x, tensors);
      bytes.add(tensor_of(x), place);
      if (place == PyList_GET_SIZE(tensors)) append(tensors, x);
    } else if (is_number(x)) {
      bytes.add(PyFloat_CheckExact(x) ? -1 : -2);
      append(numbers, x);
    } else {
      bytes.add(-3);
      append(values.get(), reinterpret_cast<PyObject*>(Py_TYPE(x)));
      append(values.get(), x);
    }
  }
  const Reference packed(bytes.object());
  append(values.get(), packed.get());
  return checked(PyList_AsTuple(values.get()));
}

PyMethodDef functions[] = {positional<call_key, 4>("call_key"), {nullptr, nullptr, 0, nullptr}};

}  // namespace

void init_call_key(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
}

}  // namespace ofl::python
