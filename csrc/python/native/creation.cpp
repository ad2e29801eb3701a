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
#include "python/tensor/unknown_extents.h"
#include "tensor/index/triangles.h"
#include "tensor/layout.h"

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

/// Each run of a program gives the value.
bool is_slotted(const Input* value) { return value && value->slot >= 0; }

/// Of `value`; null: of anything. Pinned memory is the cpu's, whatever the home. With `like`, which
/// has the same shape, the new tensor has its order of axes in memory.
PyObject* make_filled(const Input* value, Device home, bool pinned, DType dtype, const Dims& shape,
                      const Tensor* like = nullptr) {
  Reference made(reinterpret_cast<PyObject*>(new_tensor_object()));
  Tensor& tensor = reinterpret_cast<TensorObject*>(made.get())->tensor;
  const auto item_size = static_cast<int64_t>(size_of(dtype));
  if (pinned) {
    tensor = new_pinned(dtype, shape);
    if (value) fill(issuer(), tensor, *value, "full");
  } else if (is_slotted(value) ||
             !full_now(issuer(), home, dtype, shape, value ? &value->scalar : nullptr, &tensor)) {
    const Issuer from = issuer();
    Tensor lying = make_tensor(from.machine.state(home), dtype, shape, from.site);
    if (like) lying.strides = strides_as_it_lies(*like, shape, item_size);
    tensor = value ? full(from, std::move(lying), *value) : empty(from, std::move(lying));
  } else if (like) {
    tensor.strides = strides_as_it_lies(*like, shape, item_size);  // all elements are equal
  }
  return made.release();
}

struct Filling {
  const char *name, *like;  // the function, and the one of the shape of a tensor
  bool is_empty, is_one;
};
constexpr Filling kEmpty{"empty", "empty_like", true, false};
constexpr Filling kZeros{"zeros", "zeros_like", false, false};
constexpr Filling kOnes{"ones", "ones_like", false, true};

PyObject* make(const Filling& filling, Device home, bool pinned, DType dtype, const Dims& shape,
               const Tensor* like = nullptr) {
  const Input value = filling.is_one ? to_scalar(Py_True, dtype) : Scalar{};
  return make_filled(filling.is_empty ? nullptr : &value, home, pinned, dtype, shape, like);
}

/// `x`, unless it is row-major: then no other order of axes is wanted.
const Tensor* lying(const Tensor& x) { return x.contiguous() ? nullptr : &x; }

template <const Filling& filling>
PyObject* filled(const Given& shape, const Given& dtype, const Given& device,
                 const Given& pin_memory) {
  const DType wanted = dtype_or(dtype, DType::f64, filling.name);
  const bool pinned = is_pinned(device, pin_memory);
  const Device home = device_or(device, default_device());
  const Dims dims = parse_new_shape(shape, filling.name);
  return make(filling, home, pinned, wanted, dims);
}

template <const Filling& filling>
PyObject* filled_like(const Operand& x, const Given& dtype, const Given& device) {
  const DType wanted = dtype_or(dtype, x->dtype, filling.like);
  return make(filling, device_or(device, x->device()), false, wanted, x->shape, lying(*x));
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

/// NumPy assigns integers to bool by C's long here, and by their truth everywhere else.
void refuse_long_bool(PyObject* value, DType dtype) {
  if (dtype != DType::b1 || !PyLong_CheckExact(value)) return;
  int overflow;
  PyLong_AsLongLongAndOverflow(value, &overflow);
  if (!overflow) return;
  const Reference text(checked(PyObject_Repr(value)));
  fail(ErrorKind::overflow, "[full] fill_value: ", utf8(text.get()), " does not fit in 64 bits");
}

/// Without a dtype, of the value's own.
PyObject* make_full(PyObject* value, Device home, bool pinned, std::optional<DType> dtype,
                    const Dims& shape, const Tensor* like = nullptr) {
  if (is_number(value)) {
    const DType wanted = dtype ? *dtype : numpys_dtype(value);
    refuse_long_bool(value, wanted);
    const Input number = number_input(value, wanted);
    return make_filled(&number, home, pinned, wanted, shape, like);
  }
  const Reference device(device_object(home));
  // Of a sequence, NumPy asks each number for its truth, and casts integers of any size to floats.
  const bool one_by_one = dtype && (PyList_Check(value) || PyTuple_Check(value)) &&
                          (*dtype == DType::b1 || info(*dtype).kind == DTypeKind::floating ||
                           info(*dtype).kind == DTypeKind::complex);
  PyObject* const first = one_by_one ? reinterpret_cast<PyObject*>(descr_of(*dtype)) : Py_None;
  const Reference values(as_tensor(value, first, device.get()));
  const DType wanted = dtype.value_or(tensor_of(values.get()).dtype);
  Reference made(make_filled(nullptr, home, pinned, wanted, shape, like));
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
  const DType wanted = dtype_or(dtype, x->dtype, "full_like");
  return make_full(fill_value, device_or(device, x->device()), false, wanted, x->shape, lying(*x));
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
  return x.contiguous() ? made.release() : wrap(contiguous(issuer(), x));
}

/// asarray(x) and the like, where x is a tensor and there are no other arguments.
PyObject* itself(PyObject* tensor) { return Py_NewRef(tensor); }
PyObject* itself_if_contiguous(PyObject* tensor) {
  const Tensor& x = tensor_of(tensor);
  return x.ndim() > 0 && x.contiguous() ? Py_NewRef(tensor) : nullptr;
}

// --- matrices

/// eye(N, M, k, dtype, device) and tri(N, M, k, dtype, device)
template <Places places>
PyObject* matrix_path(const Call& call) {
  const std::optional<int64_t> rows = known_integer(call[0]), k = known_integer(call[2]);
  const std::optional<int64_t> columns = call[1] == Py_None ? rows : known_integer(call[1]);
  if (!rows || !columns || !k || *rows < 0 || *columns < 0) return nullptr;
  const std::optional<DType> dtype =
      call[3] == Py_None ? std::optional<DType>(DType::f64) : known_dtype(call[3]);
  if (!dtype) return nullptr;
  const Device device = device_or(call[4], default_device());
  const Scalar one = to_scalar(Py_True, *dtype);
  Tensor out;
  return matrix_here(issuer(), device, *dtype, {*rows, *columns}, places, *k, one, &out)
             ? wrap(std::move(out))
             : nullptr;
}

/// tril(x, k) and triu(x, k)
template <Places places>
PyObject* triangle_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  const std::optional<int64_t> k = known_integer(call[1]);
  Tensor out;
  return x && k && triangle_here(issuer(), *x, places, *k, &out) ? wrap(std::move(out)) : nullptr;
}

/// diag(x, k)
PyObject* diag_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  const std::optional<int64_t> k = known_integer(call[1]);
  if (!x || !k) return nullptr;
  if (x->ndim() == 2) {
    return wrap(cast_copy(issuer(), diagonal_view(*x, *k, 0, 1), x->dtype, "copy"));
  }
  Tensor out;
  return diagonal_here(issuer(), *x, *k, &out) ? wrap(std::move(out)) : nullptr;
}

// --- parts of real numbers

/// `x` if it is column-major. NumPy's imaginary parts of real numbers are column-major then, too.
const Tensor* columns(const Tensor& x) {
  return !x.contiguous() && reversed_view(x).contiguous() ? &x : nullptr;
}

/// isreal(x) and iscomplex(x): of real numbers
template <const Filling& filling>
PyObject* are_all_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  if (!x || info(x->dtype).kind == DTypeKind::complex || may_have_stand_ins(*x)) return nullptr;
  // NumPy compares the imaginary part with 0 for isreal(), and makes zeros for iscomplex().
  return make(filling, x->device(), false, DType::b1, x->shape,
              filling.is_one ? columns(*x) : nullptr);
}

/// imag(x): of real numbers
PyObject* imag_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  if (!x || info(x->dtype).kind == DTypeKind::complex || may_have_stand_ins(*x)) return nullptr;
  return make(kZeros, x->device(), false, x->dtype, x->shape, columns(*x));
}

/// nan_to_num(x, copy, nan, posinf, neginf): of numbers that are always finite
PyObject* nan_to_num_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  if (!x || call[1] != Py_True) return nullptr;
  const DTypeKind kind = info(x->dtype).kind;
  if (kind == DTypeKind::floating || kind == DTypeKind::complex) return nullptr;
  return wrap(cast_like(issuer(), *x, x->dtype, "copy"));
}

PyObject* copy_function(const Operand& x) {
  return wrap(cast_like(issuer(), *x, x->dtype, "copy"));
}

/// An operand as a tensor; an unknown extent beside `first`, which may be null, is an integer.
PyObject* as_operand(PyObject* given, const Tensor* first) {
  if (is_tensor(given)) return Py_NewRef(given);
  if (!first) return made_on(std::nullopt, given);
  if (!is_unknown_extent(given)) return made_on(first->device(), given);
  vm::DeviceState& home = first->storage->state();
  const Reference integer(wrap(make_tensor(home, DType::i64, Dims{}, issuer().site)));
  return extent_beside(given, integer.get(), "on_one_device");
}

/// on_one_device(*operands)
PyObject* on_one_device(const Call& call) {
  const Arguments end = call.rest + call.rest_count;
  const Arguments first = std::find_if(call.rest, end, is_tensor);
  const Tensor* const known = first == end ? nullptr : &tensor_of(*first);
  Reference tensors(checked(PyList_New(call.rest_count)));
  for (Py_ssize_t i = 0; i < call.rest_count; ++i) {
    PyList_SET_ITEM(tensors.get(), i, as_operand(call.rest[i], known));
  }
  return tensors.release();
}

}  // namespace

const NativeRow kCreationPaths[] = {
    whole<tensor_function>("tensor"),
    whole<asarray>("asarray", itself),
    whole<array_function>("array"),
    whole<asanyarray>("asanyarray", itself),
    whole<ascontiguousarray>("ascontiguousarray", itself_if_contiguous),
    whole<filled<kEmpty>>("empty"),
    whole<filled<kZeros>>("zeros"),
    whole<filled<kOnes>>("ones"),
    whole<full_of>("full"),
    whole<filled_like<kEmpty>>("empty_like"),
    whole<filled_like<kZeros>>("zeros_like"),
    whole<filled_like<kOnes>>("ones_like"),
    whole<full_like>("full_like"),
    whole<on_one_device>("on_one_device"),
    whole<copy_function>("copy"),
    {"eye", matrix_path<Places::diagonal>},
    {"tri", matrix_path<Places::below>},
    {"tril", triangle_path<Places::below>},
    {"triu", triangle_path<Places::above>},
    {"diag", diag_path},
    {"isreal", are_all_path<kOnes>},
    {"iscomplex", are_all_path<kZeros>},
    {"imag", imag_path},
    {"nan_to_num", nan_to_num_path},
    {nullptr, nullptr}};

}  // namespace ofl::python
