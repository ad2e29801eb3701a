// Functions of ops/creation and ops/operands.py.
#include <algorithm>

#include "python/convert.h"
#include "python/machine/device_object.h"
#include "python/native/signature.h"
#include "python/runtime.h"
#include "python/sequences.h"
#include "python/slots.h"
#include "python/tensor/functions.h"
#include "python/tensor/type.h"

namespace ofl::python {

namespace {

// --- from a shape

/// Whether a new tensor goes to pinned memory, which is the cpu's.
bool is_pinned(PyObject* device, PyObject* pin_memory) {
  if (!truth(pin_memory)) return false;
  const Device asked = device_or(device, {});
  if (asked.type == DeviceType::cpu) return true;
  fail(ErrorKind::value, "[pin_memory] expected a tensor of the cpu, got device ", asked.str());
}

/// Of `value`; null: of anything. Pinned memory is the cpu's, whatever the home.
PyObject* make_filled(const Input* value, Device home, bool pinned, DType dtype,
                      const Dims& shape) {
  Reference made(reinterpret_cast<PyObject*>(new_tensor_object()));
  Tensor& tensor = reinterpret_cast<TensorObject*>(made.get())->tensor;
  if (pinned) {
    tensor = new_pinned(dtype, shape);
    if (value) fill(issuer(), tensor, *value, "full");
  } else if (!full_here(runtime().machine, home, dtype, shape, value ? &value->scalar : nullptr,
                        &tensor)) {
    tensor =
        value ? full(issuer(), home, dtype, shape, *value) : empty(issuer(), home, dtype, shape);
  }
  return made.release();
}

struct Filling {
  const char* name;
  bool is_empty, is_one;
};
constexpr Filling kEmpty{"empty", true, false}, kZeros{"zeros", false, false};
constexpr Filling kOnes{"ones", false, true};

PyObject* make(const Filling& filling, Device home, bool pinned, DType dtype, const Dims& shape) {
  const Input value = filling.is_one ? to_scalar(Py_True, dtype) : Scalar{};
  return make_filled(filling.is_empty ? nullptr : &value, home, pinned, dtype, shape);
}

template <const Filling& filling>
PyObject* filled(const Given& shape, const Given& dtype, const Given& device,
                 const Given& pin_memory) {
  const DType wanted = dtype_or(dtype, DType::f64, filling.name);
  const bool pinned = is_pinned(device, pin_memory);
  const Device home = device_or(device, default_device());
  const Dims dims = parse_new_shape(shape, filling.is_empty ? "empty" : "full");
  return make(filling, home, pinned, wanted, dims);
}

template <const Filling& filling>
PyObject* filled_like(const Operand& x, const Given& dtype, const Given& device) {
  const DType wanted = dtype_or(dtype, x->dtype, filling.name);
  return make(filling, device_or(device, x->device()), false, wanted, x->shape);
}

/// Whether it is one of Python's or NumPy's numbers.
bool is_number(PyObject* value) {
  return PyLong_Check(value) || PyFloat_Check(value) || PyComplex_Check(value) ||
         PyArray_IsScalar(value, Generic) || is_slot(value);
}

DType numpys_dtype(PyObject* number) {
  if (const std::optional<DType> known = dtype_of_number(number)) return *known;
  const Reference array(checked(PyArray_FROM_O(number)));
  return dtype_of(PyArray_DESCR(reinterpret_cast<PyArrayObject*>(array.get())), "full");
}

/// Without a dtype, of the value's own.
PyObject* make_full(PyObject* value, Device home, bool pinned, std::optional<DType> dtype,
                    const Dims& shape) {
  if (is_number(value)) {
    const DType wanted = dtype ? *dtype : numpys_dtype(value);
    const Input number = number_input(value, wanted);
    return make_filled(&number, home, pinned, wanted, shape);
  }
  const Reference device(device_object(home));
  const Reference values(as_tensor(value, Py_None, device.get()));
  const DType wanted = dtype.value_or(tensor_of(values.get()).dtype);
  Reference made(make_filled(nullptr, home, pinned, wanted, shape));
  assign_value(tensor_of(made.get()), values.get(), "assign");
  return made.release();
}

PyObject* full_of(const Given& shape, const Given& fill_value, const Given& dtype,
                  const Given& device, const Given& pin_memory) {
  std::optional<DType> wanted;
  if (dtype != Py_None) wanted = parse_dtype(dtype, "full");
  const bool pinned = is_pinned(device, pin_memory);
  const Device home = device_or(device, default_device());
  return make_full(fill_value, home, pinned, wanted, parse_new_shape(shape, "full"));
}

PyObject* full_like(const Operand& x, const Given& fill_value, const Given& dtype,
                    const Given& device) {
  const DType wanted = dtype_or(dtype, x->dtype, "full");
  return make_full(fill_value, device_or(device, x->device()), false, wanted, x->shape);
}

// --- from data

PyObject* pinned_copy(PyObject* data, PyObject* dtype) {
  const Reference cpu(is_tensor(data) ? Py_NewRef(Py_None) : device_object({}));
  const Reference values(as_tensor(data, dtype, cpu.get()));
  const Tensor& source = tensor_of(values.get());
  Tensor made = new_pinned(source.dtype, source.shape);
  assign(issuer(), made, to_device(issuer(), source, made.device(), false), "assign");
  return wrap(std::move(made));
}

PyObject* tensor_function(const Given& data, const Given& dtype, const Given& device,
                          const Given& pin_memory) {
  return is_pinned(device, pin_memory) ? pinned_copy(data, dtype)
                                       : as_tensor(data, dtype, device, Py_True);
}

PyObject* asarray(const Given& obj, const Given& dtype, const Given& device, const Given& copy) {
  return as_tensor(obj, dtype, device, copy);
}

PyObject* array_function(const Given& data, const Given& dtype, const Given& copy,
                         const Given& ndmin, const Given& device) {
  Reference made(as_tensor(data, dtype, device, copy));
  const int64_t missing = integer_argument(ndmin) - tensor_of(made.get()).ndim();
  if (missing <= 0) return made.release();
  const Reference key(checked(PyTuple_New(missing)));
  for (Py_ssize_t i = 0; i < missing; ++i) PyTuple_SET_ITEM(key.get(), i, Py_NewRef(Py_None));
  return checked(tensor_subscript(made.get(), key.get()));
}

PyObject* asanyarray(const Given& obj, const Given& dtype, const Given& device) {
  return as_tensor(obj, dtype, device);
}

PyObject* ascontiguousarray(const Given& obj, const Given& dtype, const Given& device) {
  Reference made(as_tensor(obj, dtype, device));
  const Tensor& x = tensor_of(made.get());
  if (x.ndim() == 0) return reshape_tensor(x, {1}, Reuse::where_possible);
  return x.contiguous() ? made.release() : copy_tensor(x);
}

/// on_one_device(*operands)
PyObject* on_one_device(const Call& call) {
  const Arguments end = call.rest + call.rest_count;
  const Arguments first = std::find_if(call.rest, end, is_tensor);
  std::optional<Device> home;
  if (first != end) home = tensor_of(*first).device();
  Reference tensors(checked(PyList_New(call.rest_count)));
  for (Py_ssize_t i = 0; i < call.rest_count; ++i) {
    PyObject* const given = call.rest[i];
    PyList_SET_ITEM(tensors.get(), i, is_tensor(given) ? Py_NewRef(given) : made_on(home, given));
  }
  return tensors.release();
}

}  // namespace

const NativeRow kCreationPaths[] = {whole<tensor_function>("tensor"),
                                    whole<asarray>("asarray"),
                                    whole<array_function>("array"),
                                    whole<asanyarray>("asanyarray"),
                                    whole<ascontiguousarray>("ascontiguousarray"),
                                    whole<filled<kEmpty>>("empty"),
                                    whole<filled<kZeros>>("zeros"),
                                    whole<filled<kOnes>>("ones"),
                                    whole<full_of>("full"),
                                    whole<filled_like<kEmpty>>("empty_like"),
                                    whole<filled_like<kZeros>>("zeros_like"),
                                    whole<filled_like<kOnes>>("ones_like"),
                                    whole<full_like>("full_like"),
                                    whole<on_one_device>("on_one_device"),
                                    {nullptr, nullptr}};

}  // namespace ofl::python
