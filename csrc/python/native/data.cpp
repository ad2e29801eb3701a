#include "python/native/data.h"

#include <cstring>

#include "python/convert.h"
#include "python/machine/device_object.h"
#include "python/native/lists.h"
#include "python/runtime.h"
#include "python/sequences.h"
#include "python/slots.h"
#include "python/tensor/functions.h"

namespace ofl::python {

namespace {

PyObject* tensor_of_array(PyArrayObject* array, Device device) {
  if (PyArray_ISCARRAY_RO(array) && PyArray_NDIM(array) <= kMaxDims) {
    const DType dtype = dtype_of_array(array, "tensor");
    Dims shape;
    for (int d = 0; d < PyArray_NDIM(array); ++d) shape.push_back(PyArray_DIM(array, d));
    Reference made(reinterpret_cast<PyObject*>(new_tensor_object()));
    Tensor& tensor = reinterpret_cast<TensorObject*>(made.get())->tensor;
    if (full_here(runtime().machine, device, dtype, shape, nullptr, &tensor)) {
      const auto bytes = static_cast<size_t>(PyArray_NBYTES(array));
      if (bytes) std::memcpy(tensor.address(), PyArray_DATA(array), bytes);
      return made.release();
    }
  }
  return wrap(from_array(array, device));
}

/// Tensor of one of Python's numbers, or null.
PyObject* tensor_of_number(PyObject* value, std::optional<DType> wanted, Device device) {
  const std::optional<DType> own = dtype_of_number(value);
  if (is_slot(value)) {
    if (wanted && wanted != own) return nullptr;
    return wrap(full(issuer(), device, *own, {}, number_input(value, *own)));
  }
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

/// Tensor of data whose conversion runs no code of the program: an array, nested lists of numbers,
/// a number; or null, also where NumPy refuses them: it does so again when the converter asks.
PyObject* plain_tensor(PyObject* data, std::optional<DType> dtype, Device device) {
  if (PyArray_CheckExact(data)) {
    return dtype ? nullptr : tensor_of_array(reinterpret_cast<PyArrayObject*>(data), device);
  }
  if (!PyList_CheckExact(data) && !PyTuple_CheckExact(data)) {
    return tensor_of_number(data, dtype, device);
  }
  PyObject* made = tensor_of_lists(data, dtype, device);
  if (made || dtype) return made;
  const Reference held(held_data(data, "tensor"));
  if (held.get() != data) return nullptr;
  const Reference made_by_numpy(PyArray_FROM_O(data));
  PyErr_Clear();
  auto* array = reinterpret_cast<PyArrayObject*>(made_by_numpy.get());
  const bool is_known = array && known_dtype(reinterpret_cast<PyObject*>(PyArray_DESCR(array)));
  return is_known ? tensor_of_array(array, device) : nullptr;
}

/// Of data that is no tensor.
PyObject* made_of(PyObject* data, PyObject* dtype, PyObject* device, PyObject* copy) {
  std::optional<DType> wanted;
  if (dtype != Py_None) wanted = parse_dtype(dtype, "tensor");
  PyObject* made =
      copy == Py_False ? nullptr : plain_tensor(data, wanted, device_or(device, default_device()));
  return made ? made : converted(data, dtype, device, copy);
}

/// x in the dtype and on the device asked for, cast where it is.
PyObject* fitted(PyObject* x, PyObject* dtype, PyObject* device, bool copy) {
  if (dtype == Py_None && device == Py_None && !copy) return Py_NewRef(x);
  const Tensor& tensor = tensor_of(x);
  const DType wanted = dtype_or(dtype, tensor.dtype, "tensor");
  const Device home = device_or(device, tensor.device());
  if (wanted == tensor.dtype) {
    return copy && home == tensor.device() ? wrap(cast_like(issuer(), tensor, wanted, "copy"))
                                           : move_tensor(x, home, copy);
  }
  const Reference cast(cast_tensor(x, wanted, true));
  return move_tensor(cast.get(), home, false);
}

}  // namespace

std::optional<DType> dtype_of_number(PyObject* value) {
  if (PyFloat_CheckExact(value)) return DType::f64;
  if (PyBool_Check(value)) return DType::b1;
  if (PyComplex_CheckExact(value)) return DType::c128;
  if (is_slot(value)) return is_complex_slot(value) ? DType::c128 : DType::f64;
  return known_integer(value) ? std::optional<DType>(DType::i64) : std::nullopt;
}

PyObject* as_tensor(PyObject* data, PyObject* dtype, PyObject* device, PyObject* copy) {
  if (!is_tensor(data)) return made_of(data, dtype, device, copy);
  if (copy != Py_False) return fitted(data, dtype, device, truth(copy));
  const Tensor& x = tensor_of(data);
  const bool fits =
      dtype_or(dtype, x.dtype, "asarray") == x.dtype && device_or(device, x.device()) == x.device();
  return fits ? Py_NewRef(data) : converted(data, dtype, device, copy);  // an error
}

PyObject* made_on(std::optional<Device> home, PyObject* data) {
  PyObject* made = plain_tensor(data, std::nullopt, home ? *home : default_device());
  if (made) return made;
  const Reference device(home ? device_object(*home) : Py_NewRef(Py_None));
  return converted(data, Py_None, device.get(), Py_None);
}

}  // namespace ofl::python
