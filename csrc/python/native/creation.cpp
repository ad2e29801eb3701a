// Native paths of ops/creation and ops/operands.py.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "python/convert.h"
#include "python/native/function.h"
#include "python/native/lists.h"
#include "python/runtime.h"
#include "python/sequences.h"
#include "python/tensor/functions.h"

namespace ofl::python {

namespace {

PyObject* same(PyObject* object) {
  Py_INCREF(object);
  return object;
}

// --- from a shape

enum class Filling : uint8_t { nothing, zero, one };

Scalar number(Filling filling, DType dtype) {
  return filling == Filling::one ? to_scalar(Py_True, dtype) : Scalar{};
}

/// Of `value`; null: of anything.
PyObject* make_filled(const Scalar* value, Device device, DType dtype, const Dims& shape) {
  Reference made(reinterpret_cast<PyObject*>(new_tensor_object()));
  Tensor& tensor = reinterpret_cast<TensorObject*>(made.get())->tensor;
  if (!full_here(runtime().machine, device, dtype, shape, value, &tensor)) {
    tensor = value ? full(issuer(), device, dtype, shape, *value)
                   : empty(issuer(), device, dtype, shape);
  }
  return made.release();
}

PyObject* make(Filling filling, Device device, DType dtype, const Dims& shape) {
  if (filling == Filling::nothing) return make_filled(nullptr, device, dtype, shape);
  const Scalar value = number(filling, dtype);
  return make_filled(&value, device, dtype, shape);
}

/// f(shape, dtype, device, pin_memory)
template <Filling filling>
PyObject* filled(const Call& call) {
  const std::optional<Dims> shape = known_shape(call[0]);
  const std::optional<DType> dtype = call[1] == Py_None ? DType::f64 : known_dtype(call[1]);
  const std::optional<Device> device = known_device(call[2]);
  if (!shape || !dtype || !device || call[3] != Py_False) return nullptr;
  return make(filling, *device, *dtype, *shape);
}

/// f(x, dtype, device)
template <Filling filling>
PyObject* filled_like(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  if (!x || call[2] != Py_None) return nullptr;
  const std::optional<DType> dtype = call[1] == Py_None ? x->dtype : known_dtype(call[1]);
  return dtype ? make(filling, x->device(), *dtype, x->shape) : nullptr;
}

/// What NumPy makes of one of Python's numbers.
std::optional<DType> dtype_of_number(PyObject* value) {
  if (PyFloat_CheckExact(value)) return DType::f64;
  if (PyBool_Check(value)) return DType::b1;
  if (PyComplex_CheckExact(value)) return DType::c128;
  return known_integer(value) ? std::optional<DType>(DType::i64) : std::nullopt;
}

/// full(shape, fill_value, dtype, device, pin_memory)
PyObject* full_path(const Call& call) {
  const std::optional<DType> own = dtype_of_number(call[1]);
  if (!own || call[4] != Py_False) return nullptr;
  const std::optional<DType> dtype = call[2] == Py_None ? own : known_dtype(call[2]);
  const std::optional<Dims> shape = known_shape(call[0]);
  const std::optional<Device> device = known_device(call[3]);
  if (!shape || !dtype || !device) return nullptr;
  const Scalar value = to_scalar(call[1], *dtype);
  return make_filled(&value, *device, *dtype, *shape);
}

/// full_like(x, fill_value, dtype, device)
PyObject* full_like_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  if (!x || call[3] != Py_None || !dtype_of_number(call[1])) return nullptr;
  const std::optional<DType> dtype = call[2] == Py_None ? x->dtype : known_dtype(call[2]);
  if (!dtype) return nullptr;
  const Scalar value = to_scalar(call[1], *dtype);
  return make_filled(&value, x->device(), *dtype, x->shape);
}

// --- from data

/// Tensor of an array, or null.
PyObject* tensor_of_array(PyArrayObject* array, Device device) {
  const int ndim = PyArray_NDIM(array);
  const auto dtype = known_dtype(reinterpret_cast<PyObject*>(PyArray_DESCR(array)));
  if (!dtype || ndim > kMaxDims) return nullptr;
  if (PyArray_ISCARRAY_RO(array)) {
    Dims shape;
    for (int d = 0; d < ndim; ++d) shape.push_back(PyArray_DIM(array, d));
    Reference made(reinterpret_cast<PyObject*>(new_tensor_object()));
    Tensor& tensor = reinterpret_cast<TensorObject*>(made.get())->tensor;
    if (full_here(runtime().machine, device, *dtype, shape, nullptr, &tensor)) {
      const auto bytes = static_cast<size_t>(PyArray_NBYTES(array));
      if (bytes) std::memcpy(tensor.address(), PyArray_DATA(array), bytes);
      return made.release();
    }
  }
  return wrap(from_array(array, device));
}

/// The Python function will raise the error again, and say what is wrong. It would not raise again
/// what is no Exception, such as Ctrl-C.
void leave_to_function() {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) throw PythonErrorSet{};
  PyErr_Clear();
}

/// Whether nested sequences begin with a tensor.
bool begins_with_tensor(PyObject* data) {
  for (int depth = 0; depth <= kMaxDims; ++depth) {
    const bool sequence = PyList_Check(data) || PyTuple_Check(data);
    if (!sequence || PySequence_Fast_GET_SIZE(data) == 0) return is_tensor(data);
    data = PySequence_Fast_GET_ITEM(data, 0);
  }
  return false;
}

/// The array that NumPy makes of nested sequences of numbers, in NumPy's dtype; null where that
/// takes more, or fails.
PyObject* plain_array(PyObject* data) {
  if (begins_with_tensor(data)) return nullptr;
  const Reference held(held_data(data, "tensor"));
  PyObject* array = PyArray_FROM_O(held.get());
  if (!array) leave_to_function();
  return array;
}

/// Tensor of one of Python's numbers, or null.
PyObject* tensor_of_number(PyObject* value, std::optional<DType> wanted, Device device) {
  const std::optional<DType> own = dtype_of_number(value);
  Scalar scalar;
  if (!own || (wanted && !store_number(value, *wanted, &scalar))) return nullptr;
  if (!wanted) scalar = to_scalar(value, *own);
  const DType dtype = wanted.value_or(*own);
  Reference made(reinterpret_cast<PyObject*>(new_tensor_object()));
  Tensor& tensor = reinterpret_cast<TensorObject*>(made.get())->tensor;
  if (!full_here(runtime().machine, device, dtype, {}, &scalar, &tensor)) {
    tensor = from_host(issuer(), scalar.bytes, dtype, {}, device);
  }
  return made.release();
}

bool is_sequence(PyObject* data) { return PyList_CheckExact(data) || PyTuple_CheckExact(data); }

/// Tensor of data whose conversion runs no code of the program: an array, nested lists of numbers,
/// a number; or null.
PyObject* plain_tensor(PyObject* data, std::optional<DType> dtype, Device device) {
  if (PyArray_CheckExact(data)) {
    return dtype ? nullptr : tensor_of_array(reinterpret_cast<PyArrayObject*>(data), device);
  }
  return is_sequence(data) ? tensor_of_lists(data, dtype, device)
                           : tensor_of_number(data, dtype, device);
}

/// Tensor of data that is none, or null; `given_dtype` may be None.
PyObject* converted(PyObject* data, PyObject* given_dtype, PyObject* given_device) {
  const std::optional<Device> device = known_device(given_device);
  const std::optional<DType> dtype =
      given_dtype == Py_None ? std::nullopt : known_dtype(given_dtype);
  if (!device || (!dtype && given_dtype != Py_None)) return nullptr;
  if (PyObject* made = plain_tensor(data, dtype, *device)) return made;
  if (dtype || !is_sequence(data)) return nullptr;
  const Reference made(plain_array(data));
  auto* array = reinterpret_cast<PyArrayObject*>(made.get());
  return array ? tensor_of_array(array, *device) : nullptr;
}

/// tensor(data, dtype, device, pin_memory)
PyObject* tensor_path(const Call& call) {
  if (call[3] != Py_False || is_tensor(call[0])) return nullptr;
  return converted(call[0], call[1], call[2]);
}

/// asarray(obj, dtype, device, copy)
PyObject* asarray_path(const Call& call) {
  if (call[3] == Py_False) return nullptr;
  if (!is_tensor(call[0])) return converted(call[0], call[1], call[2]);
  const bool fits = call[1] == Py_None && call[2] == Py_None && call[3] == Py_None;
  return fits ? same(call[0]) : nullptr;
}

/// array(data, dtype, copy, ndmin, device)
PyObject* array_path(const Call& call) {
  const std::optional<int64_t> ndmin = known_integer(call[3]);
  if (call[2] == Py_False || !ndmin || *ndmin > 0 || is_tensor(call[0])) return nullptr;
  return converted(call[0], call[1], call[4]);
}

/// asanyarray(obj, dtype, device)
PyObject* asanyarray_path(const Call& call) {
  if (!is_tensor(call[0])) return converted(call[0], call[1], call[2]);
  return call[1] == Py_None && call[2] == Py_None ? same(call[0]) : nullptr;
}

/// ascontiguousarray(obj, dtype, device)
PyObject* contiguous_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  if (!x || x->ndim() == 0 || call[1] != Py_None || call[2] != Py_None) return nullptr;
  return x->contiguous() ? same(call[0]) : copy_tensor(*x);
}

/// on_one_device(*operands)
PyObject* on_one_device_path(const Call& call) {
  const Arguments end = call.rest + call.rest_count;
  const Arguments first = std::find_if(call.rest, end, is_tensor);
  const Device home = first == end ? default_device() : tensor_of(*first).device();
  Reference tensors(checked(PyList_New(call.rest_count)));
  for (Py_ssize_t i = 0; i < call.rest_count; ++i) {
    PyObject* const given = call.rest[i];
    PyObject* tensor = is_tensor(given) ? same(given) : plain_tensor(given, std::nullopt, home);
    if (!tensor) return nullptr;
    PyList_SET_ITEM(tensors.get(), i, tensor);
  }
  return tensors.release();
}

// --- ranges

constexpr int64_t kSmallRange = 1024;  // longer ones are left to NumPy

/// The integers from `first` on, before `last`; null when they are too many or far.
PyObject* integer_range(int64_t first, int64_t last, int64_t step, Device device) {
  constexpr int64_t kFar = int64_t{1} << 60;
  if (step == 0 || std::abs(first) > kFar || std::abs(last) > kFar || std::abs(step) > kFar) {
    return nullptr;
  }
  const int64_t span = step > 0 ? last - first : first - last;
  const int64_t stride = std::abs(step);
  const int64_t count = span > 0 ? (span - 1) / stride + 1 : 0;
  if (count > kSmallRange) return nullptr;
  int64_t values[kSmallRange];
  for (int64_t i = 0; i < count; ++i) values[i] = first + i * step;
  return wrap(from_host(issuer(), values, DType::i64, {count}, device));
}

/// A float, or an integer that is one exactly.
std::optional<double> exact_double(PyObject* value) {
  constexpr int64_t kExact = int64_t{1} << 53;
  if (PyFloat_CheckExact(value)) return PyFloat_AS_DOUBLE(value);
  const std::optional<int64_t> number = known_integer(value);
  if (!number || *number < -kExact || *number > kExact) return std::nullopt;
  return static_cast<double>(*number);
}

/// NumPy's float64 range; null for what NumPy refuses.
PyObject* float_range(double first, double last, double step, Device device) {
  if (step == 0 || !std::isfinite(first) || !std::isfinite(last) || !std::isfinite(step)) {
    return nullptr;
  }
  const Reference array(PyArray_Arange(first, last, step, NPY_DOUBLE));
  if (array.get()) return wrap(from_array(reinterpret_cast<PyArrayObject*>(array.get()), device));
  leave_to_function();
  return nullptr;
}

/// arange(start, stop, step, dtype, device)
PyObject* arange_path(const Call& call) {
  const std::optional<Device> device = known_device(call[4]);
  if (!device) return nullptr;
  const bool from_zero = call[1] == Py_None;
  PyObject* const stop = call[from_zero ? 0 : 1];
  const auto first = from_zero ? std::optional<int64_t>(0) : known_integer(call[0]);
  const std::optional<int64_t> last = known_integer(stop), step = known_integer(call[2]);
  const std::optional<DType> dtype = call[3] == Py_None ? std::nullopt : known_dtype(call[3]);
  if (!dtype && call[3] != Py_None) return nullptr;
  if (first && last && step) {
    const bool integers = !dtype || *dtype == DType::i64;
    return integers ? integer_range(*first, *last, *step, *device) : nullptr;
  }
  if (dtype && *dtype != DType::f64) return nullptr;
  const auto begin = from_zero ? std::optional<double>(0) : exact_double(call[0]);
  const std::optional<double> end = exact_double(stop), stride = exact_double(call[2]);
  return begin && end && stride ? float_range(*begin, *end, *stride, *device) : nullptr;
}

}  // namespace

const NativeRow kCreationPaths[] = {{"tensor", tensor_path},
                                    {"asarray", asarray_path},
                                    {"array", array_path},
                                    {"asanyarray", asanyarray_path},
                                    {"ascontiguousarray", contiguous_path},
                                    {"empty", filled<Filling::nothing>},
                                    {"zeros", filled<Filling::zero>},
                                    {"ones", filled<Filling::one>},
                                    {"full", full_path},
                                    {"empty_like", filled_like<Filling::nothing>},
                                    {"zeros_like", filled_like<Filling::zero>},
                                    {"ones_like", filled_like<Filling::one>},
                                    {"full_like", full_like_path},
                                    {"on_one_device", on_one_device_path},
                                    {"arange", arange_path},
                                    {nullptr, nullptr}};

}  // namespace ofl::python
