// The native path of random.py: a draw by NumPy's method of the same name.
#include <algorithm>

#include "python/convert.h"
#include "python/native_function.h"
#include "python/runtime.h"
#include "python/sequences.h"

namespace ofl::python {

namespace {

/// Holds one of Python's locks.
class Holding {
 public:
  explicit Holding(PyObject* lock) : lock_(lock) {
    static PyObject* const acquire = checked(PyUnicode_InternFromString("acquire"));
    Py_DECREF(checked(PyObject_CallMethodNoArgs(lock, acquire)));
  }
  /// The error of what was done meanwhile stays.
  ~Holding() {
    static PyObject* const release = PyUnicode_InternFromString("release");
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    Py_XDECREF(PyObject_CallMethodNoArgs(lock_, release));
    PyErr_Restore(type, value, trace);
  }
  Holding(const Holding&) = delete;

 private:
  PyObject* lock_;
};

/// What the generator's NumPy generator draws by its method of that name.
PyObject* draw_numbers(PyObject* generator, PyObject* name, Arguments args, int count) {
  static PyObject* const lock_name = checked(PyUnicode_InternFromString("_lock"));
  static PyObject* const numpy_name = checked(PyUnicode_InternFromString("_numpy"));
  const Reference lock(checked(PyObject_GetAttr(generator, lock_name)));
  const Holding holding(lock.get());
  const Reference source(checked(PyObject_GetAttr(generator, numpy_name)));
  const Reference method(checked(PyObject_GetAttr(source.get(), name)));
  return checked(PyObject_Vectorcall(method.get(), args, count, nullptr));
}

/// Whether to convert the items of a sequence runs Python code.
bool runs_code(PyObject* argument) {
  const Reference held(held_data(argument, "random"));
  return held.get() != argument;
}

/// draw(self, the distribution's parameters, size, dtype, device)
PyObject* draw_path(const Call& call) {
  const Arguments args = call.values + 1;
  const int count = call.count - 3;
  if (args[count] != Py_None || args[count + 1] != Py_None) return nullptr;
  if (std::any_of(args, args + count, [&](PyObject* x) { return is_tensor(x) || runs_code(x); })) {
    return nullptr;
  }
  const Reference numbers(draw_numbers(call[0], call.name, args, count));
  if (PyArray_CheckExact(numbers.get())) {
    return wrap(from_array(reinterpret_cast<PyArrayObject*>(numbers.get()), default_device()));
  }
  if (!PyFloat_CheckExact(numbers.get())) return wrap(from_any(numbers.get(), default_device()));
  const Scalar number = to_scalar(numbers.get(), DType::f64);
  return wrap(full(issuer(), default_device(), DType::f64, Dims{}, number));
}

}  // namespace

const NativeRow kRandomPaths[] = {{"random.draw", draw_path}, {nullptr, nullptr}};

}  // namespace ofl::python
