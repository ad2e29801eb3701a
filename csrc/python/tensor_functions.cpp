// The functions on tensors that the Python layer builds its namespace from.
#include "python/bind.h"

#include <pybind11/stl.h>

#include "python/convert.h"
#include "python/device_object.h"
#include "python/op_registry.h"
#include "python/runtime.h"

namespace py = pybind11;

namespace ofl::python {

namespace {

py::object wrapped(Tensor&& tensor) {
  return py::reinterpret_steal<py::object>(wrap(std::move(tensor)));
}

const Tensor& tensor_arg(const py::handle& object, const char* op) {
  return require_tensor(object.ptr(), op);
}

py::object from_numpy(const py::object& array, Device device) {
  if (!PyArray_Check(array.ptr())) {
    fail(ErrorKind::type, "[tensor] expected a NumPy array, got ", Py_TYPE(array.ptr())->tp_name);
  }
  return wrapped(from_array(reinterpret_cast<PyArrayObject*>(array.ptr()), device));
}

Dims parse_new_shape(const py::object& shape, const char* op) {
  Dims dims = parse_dims(shape.ptr(), op);
  if (dims.size() > kMaxDims) {
    fail(ErrorKind::value, "[", op, "] at most ", kMaxDims, " dimensions, got ", dims.size());
  }
  for (int64_t d : dims) {
    if (d < 0) fail(ErrorKind::value, "[", op, "] negative dimension in shape ", shape_str(dims));
  }
  return dims;
}

py::object empty_of(const py::object& shape, const py::object& dtype, Device device) {
  return wrapped(
      empty(issuer(), device, parse_dtype(dtype.ptr(), "empty"), parse_new_shape(shape, "empty")));
}

py::object full_of(const py::object& shape, const py::object& value, const py::object& dtype,
                   Device device) {
  const DType type = parse_dtype(dtype.ptr(), "full");
  const Dims dims = parse_new_shape(shape, "full");
  return wrapped(full(issuer(), device, type, dims, to_scalar(value.ptr(), type)));
}

py::object astype(const py::object& x, const py::object& dtype, bool copy) {
  const Tensor& tensor = tensor_arg(x, "astype");
  const DType target = parse_dtype(dtype.ptr(), "astype");
  if (tensor.dtype == target && !copy) return x;
  if (info(tensor.dtype).kind == DTypeKind::complex && info(target).kind != DTypeKind::complex &&
      target != DType::b1) {
    fail(ErrorKind::type, "[astype] cannot cast ", name_of(tensor.dtype), " to ", name_of(target),
         "; take flow.real() or flow.imag() first");
  }
  return wrapped(cast_like(issuer(), tensor, target, "astype"));
}

py::object reshaped(const py::object& x, const py::object& shape, const py::object& copy) {
  const Tensor& tensor = tensor_arg(x, "reshape");
  const Dims dims = resolve_shape(tensor, parse_dims(shape.ptr(), "reshape"));
  const bool must_copy = !copy.is_none() && PyObject_IsTrue(copy.ptr()) == 1;
  const std::optional<Tensor> view = must_copy ? std::nullopt : reshape_view(tensor, dims);
  if (view) return wrapped(Tensor(*view));
  if (!copy.is_none() && !must_copy) {
    fail(ErrorKind::value, "[reshape] strides do not allow a view of shape ", shape_str(dims),
         " and copy=False");
  }
  return wrapped(*reshape_view(cast_copy(issuer(), tensor, tensor.dtype, "reshape"), dims));
}

py::object permuted(const py::object& x, const py::object& axes) {
  const Tensor& tensor = tensor_arg(x, "permute_dims");
  const Dims given = parse_dims(axes.ptr(), "permute_dims");
  SmallVector<int, 4> order;
  std::vector<bool> seen(tensor.ndim(), false);
  for (int64_t axis : given) {
    const int normal = normalize_axis(axis, tensor.ndim(), "permute_dims");
    if (seen[normal]) fail(ErrorKind::value, "[permute_dims] axis ", axis, " is named twice");
    seen[normal] = true;
    order.push_back(normal);
  }
  if (order.size() != tensor.ndim()) {
    fail(ErrorKind::value, "[permute_dims] expected ", tensor.ndim(), " axes, got ", order.size());
  }
  return wrapped(permute_view(tensor, order));
}

py::object diagonal_of(const py::object& x, int64_t offset, int64_t axis1, int64_t axis2) {
  const Tensor& tensor = tensor_arg(x, "diagonal");
  if (tensor.ndim() < 2) {
    fail(ErrorKind::value, "[diagonal] expected at least two dimensions, got shape ",
         shape_str(tensor.shape));
  }
  const int first = normalize_axis(axis1, tensor.ndim(), "diagonal");
  const int second = normalize_axis(axis2, tensor.ndim(), "diagonal");
  if (first == second) fail(ErrorKind::value, "[diagonal] axis ", axis2, " is named twice");
  return wrapped(diagonal_view(tensor, offset, first, second));
}

py::object concatenated(const std::vector<py::object>& parts, int axis, const py::object& dtype) {
  const DType target = parse_dtype(dtype.ptr(), "concat");
  if (parts.empty()) fail(ErrorKind::value, "[concat] expected at least one tensor");
  std::vector<Tensor> tensors;
  for (const py::object& part : parts) {
    const Tensor& tensor = tensor_arg(part, "concat");
    tensors.push_back(tensor.dtype == target ? tensor
                                             : cast_copy(issuer(), tensor, target, "concat"));
  }
  return wrapped(concatenate(issuer(), tensors, normalize_axis(axis, tensors[0].ndim(), "concat")));
}

/// Operands of where: the dtype is that of maximum on the same two operands, which promotes alike.
py::object where_of(const py::object& condition, const py::object& x, const py::object& y) {
  const Tensor& mask = tensor_arg(condition, "where");
  const Tensor bits =
      mask.dtype == DType::b1 ? mask : cast_copy(issuer(), mask, DType::b1, "where");
  const py::object values[2] = {x, y};
  ops::TypeCode codes[2];
  Tensor held[2];
  Input inputs[3];
  inputs[0].tensor = &bits;
  bool scalar[2] = {};
  for (int k = 0; k < 2; ++k) {
    PyObject* value = values[k].ptr();
    const OperandKind kind =
        is_tensor(value) ? OperandKind::array : classify(value, &codes[k], "where");
    scalar[k] = kind == OperandKind::scalar;
    if (scalar[k]) continue;
    if (kind == OperandKind::other) {
      fail(ErrorKind::type, "[where] expected a tensor, an array or a number, got ",
           Py_TYPE(value)->tp_name);
    }
    held[k] = is_tensor(value) ? tensor_of(value)
                               : from_array(reinterpret_cast<PyArrayObject*>(value), mask.device());
    codes[k] = ops::code_of(held[k].dtype);
  }
  const OpObject* promoter = find_op("maximum");
  const DType dtype = resolve(*promoter, codes).in[0];
  for (int k = 0; k < 2; ++k) {
    if (scalar[k]) {
      inputs[k + 1].scalar = to_scalar(values[k].ptr(), dtype);
    } else {
      if (held[k].dtype != dtype) held[k] = cast_copy(issuer(), held[k], dtype, "where");
      inputs[k + 1].tensor = &held[k];
    }
  }
  return wrapped(where(issuer(), inputs, dtype, mask.device()));
}

py::object reduced(const py::object& op, const py::object& x, const py::object& axes,
                   const py::object& accumulate, const py::object& initial, bool keepdims) {
  const OpObject& row = parse_op(op.ptr());
  const char* name = row.op->name.c_str();
  const Tensor& tensor = tensor_arg(x, name);
  std::vector<bool> reduced_axes(tensor.ndim(), axes.is_none());
  if (!axes.is_none()) {
    for (int64_t axis : parse_dims(axes.ptr(), name)) {
      const int normal = normalize_axis(axis, tensor.ndim(), name);
      if (reduced_axes[normal])
        fail(ErrorKind::value, "[", name, "] axis ", axis, " is named twice");
      reduced_axes[normal] = true;
    }
  }
  const ops::Resolution& resolution = resolve_reduction(row, parse_dtype(accumulate.ptr(), name));
  Scalar first;
  if (!initial.is_none()) first = to_scalar(initial.ptr(), resolution.out);
  return wrapped(reduce(issuer(), *row.op, resolution, tensor, reduced_axes,
                        initial.is_none() ? nullptr : &first, keepdims));
}

py::object arg_reduced(const py::object& x, const py::object& axis, bool keepdims, bool minimum) {
  const char* name = minimum ? "argmin" : "argmax";
  const Tensor& tensor = tensor_arg(x, name);
  int normal = -1;
  if (!axis.is_none()) {
    if (!PyIndex_Check(axis.ptr())) {
      fail(ErrorKind::type, "[", name, "] expected an integer axis, got ",
           Py_TYPE(axis.ptr())->tp_name);
    }
    normal = normalize_axis(parse_dims(axis.ptr(), name)[0], tensor.ndim(), name);
  }
  return wrapped(arg_reduce(issuer(), name, tensor, normal, keepdims, minimum));
}

py::object matmul_of(const py::object& a, const py::object& b) {
  PyObject* const operands[2] = {a.ptr(), b.ptr()};
  return py::reinterpret_steal<py::object>(call_op(op_of(Slot::matmul), operands, 2, false));
}

bool scalar_fits(const py::object& value, const py::object& dtype) {
  try {
    to_scalar(value.ptr(), parse_dtype(dtype.ptr(), "scalar_fits"));
    return true;
  } catch (const PythonErrorSet&) {
    if (!PyErr_ExceptionMatches(PyExc_OverflowError) && !PyErr_ExceptionMatches(PyExc_ValueError)) {
      throw;
    }
    PyErr_Clear();
    return false;
  }
}

}  // namespace

void bind_tensor_functions(py::module_& m) {
  m.def("from_numpy", &from_numpy);
  m.def("empty", &empty_of);
  m.def("full", &full_of);
  m.def("astype", &astype);
  m.def("copy", [](const py::object& x) {
    const Tensor& tensor = tensor_arg(x, "copy");
    return wrapped(cast_copy(issuer(), tensor, tensor.dtype, "copy"));
  });
  m.def("to_device", [](const py::object& x, Device device, bool copy) -> py::object {
    const Tensor& tensor = tensor_arg(x, "to_device");
    if (tensor.device() == device && !copy) return x;
    return wrapped(to_device(issuer(), tensor, device, copy));
  });
  m.def("assign", [](const py::object& target, const py::object& value) {
    assign_value(tensor_arg(target, "assign"), value.ptr(), "assign");
  });
  m.def("reshape", &reshaped);
  m.def("permute", &permuted);
  m.def("broadcast_to", [](const py::object& x, const py::object& shape) {
    return wrapped(broadcast_view(tensor_arg(x, "broadcast_to"),
                                  parse_new_shape(shape, "broadcast_to"), "broadcast_to"));
  });
  m.def("diagonal", &diagonal_of);
  m.def("concat", &concatenated);
  m.def("where", &where_of);
  m.def("matmul", &matmul_of);
  m.def("reduce", &reduced);
  m.def("arg_reduce", &arg_reduced);
  m.def("scalar_fits", &scalar_fits);
}

}  // namespace ofl::python
