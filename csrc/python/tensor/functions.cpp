// The functions on tensors that the Python layer builds its namespace from.
#include "python/tensor/functions.h"

#include <cstring>
#include <utility>
#include <vector>

#include "base/casting.h"
#include "python/bind.h"
#include "python/convert.h"
#include "python/ops/registry.h"
#include "python/runtime.h"
#include "python/sequences.h"
#include "python/slots.h"
#include "python/tensor/type.h"
#include "python/tensor/unknown_extents.h"

namespace ofl::python {

namespace {

PyObject* converter = nullptr;  // makes tensors of data that is not read natively

/// set_converter(convert)
PyObject* set_converter(Arguments given) {
  Py_XDECREF(std::exchange(converter, Py_NewRef(given[0])));
  Py_RETURN_NONE;
}

PyObject* astype(Arguments given) {
  require_tensor(given[0], "astype");
  return cast_tensor(given[0], parse_dtype(given[1], "astype"), truth(given[2]));
}

PyObject* copy_of(Arguments given) { return copy_tensor(require_tensor(given[0], "copy")); }

PyObject* to_device_of(Arguments given) {
  require_tensor(given[0], "to_device");
  return move_tensor(given[0], named_device(given[1]), truth(given[2]));
}

PyObject* assign_of(Arguments given) {
  assign_value(require_tensor(given[0], "assign"), given[1], "assign");
  Py_RETURN_NONE;
}

/// The number of a 0-d tensor: looks at it in the name of `op`, with the errors of any look.
Reference looked_number(const Tensor& x, DType dtype, const char* op, const char* argument) {
  if (x.ndim() != 0) {
    fail(ErrorKind::value, "[", op, "] ", argument, ": expected a number of ", name_of(dtype),
         ", got a tensor of shape ", shape_str(x.shape));
  }
  const Tensor seen = look_from_python(x, op);
  return Reference(checked(to_python(seen.address(), seen.dtype)));
}

/// convert(value, dtype); what is no number of the dtype is an error that names the argument.
template <typename Convert>
auto named_number(PyObject* value, DType dtype, const char* op, const char* argument,
                  const Convert& convert) {
  Reference looked;
  if (is_tensor(value)) looked = looked_number(tensor_of(value), dtype, op, argument);
  if (looked.get()) value = looked.get();
  require_unmasked(value, op);
  try {
    return convert(value, dtype);
  } catch (const PythonErrorSet&) {
    const bool is_value = PyErr_ExceptionMatches(PyExc_ValueError);
    const bool is_type = PyErr_ExceptionMatches(PyExc_TypeError);
    if (!is_value && !is_type && !PyErr_ExceptionMatches(PyExc_OverflowError)) throw;
    PyErr_Clear();
    const Reference text(checked(PyObject_Repr(value)));
    const ErrorKind kind = is_value  ? ErrorKind::value
                           : is_type ? ErrorKind::type
                                     : ErrorKind::overflow;
    fail(kind, "[", op, "] ", argument, ": expected a number of ", name_of(dtype), ", got ",
         utf8(text.get()));
  }
}

PyObject* fill_of(Arguments given) {
  const Tensor& tensor = require_tensor(given[0], "fill");
  fill(issuer(), tensor, named_number(given[1], tensor.dtype, "fill", "value", number_input),
       "fill");
  Py_RETURN_NONE;
}

PyObject* reshaped(Arguments given) {
  const Tensor& tensor = require_tensor(given[0], "reshape");
  return reshape_tensor(tensor, parse_dims(given[1], "reshape"), reuse_of(given[2]));
}

PyObject* permuted(Arguments given) {
  const Tensor& tensor = require_tensor(given[0], "permute_dims");
  return permute_tensor(tensor, parse_axes(given[1], "permute_dims"));
}

PyObject* broadcast_of(Arguments given) {
  return wrap(broadcast_view(require_tensor(given[0], "broadcast_to"),
                             parse_new_shape(given[1], "broadcast_to"), "broadcast_to"));
}

PyObject* diagonal_of(Arguments given) {
  const Tensor& tensor = require_tensor(given[0], "diagonal");
  if (tensor.ndim() < 2) {
    fail(ErrorKind::value, "[diagonal] expected at least two dimensions, got shape ",
         shape_str(tensor.shape));
  }
  const int first = normalize_axis(integer_argument(given[2]), tensor.ndim(), "diagonal");
  const int second = normalize_axis(integer_argument(given[3]), tensor.ndim(), "diagonal");
  if (first == second) {
    fail(ErrorKind::value, "[diagonal] axis ", integer_argument(given[3]), " is named twice");
  }
  return wrap(diagonal_view(tensor, integer_argument(given[1]), first, second));
}

PyObject* where_function(Arguments given) { return where_of(given[0], given[1], given[2]); }

PyObject* reduced(Arguments given) {
  const OpObject& row = parse_op(given[0]);
  const char* name = row.op->name.c_str();
  const Tensor& tensor = require_tensor(given[1], name);
  const DType accumulate = parse_dtype(given[3], name);
  if (given[4] == Py_None) {
    return reduce_tensor(row, tensor, given[2], accumulate, nullptr, truth(given[5]));
  }
  const Scalar initial = named_number(given[4], accumulate, name, "initial", to_scalar);
  return reduce_tensor(row, tensor, given[2], accumulate, &initial, truth(given[5]));
}

PyObject* arg_reduced(Arguments given) {
  const bool minimum = truth(given[3]);
  const char* name = minimum ? "argmin" : "argmax";
  const Tensor& tensor = require_tensor(given[0], name);
  int axis = -1;
  if (given[1] != Py_None) {
    if (!PyIndex_Check(given[1])) {
      fail(ErrorKind::type, "[", name, "] expected an integer axis, got ",
           Py_TYPE(given[1])->tp_name);
    }
    axis = normalize_axis(parse_axes(given[1], name)[0], tensor.ndim(), name);
  }
  return arg_reduce_tensor(tensor, axis, truth(given[2]), minimum);
}

PyObject* matmul_of(Arguments given) { return call_op(op_of(Slot::matmul), given, 2, false); }

PyObject* scalar_fits(Arguments given) {
  try {
    to_scalar(given[0], parse_dtype(given[1], "scalar_fits"));
    Py_RETURN_TRUE;
  } catch (const PythonErrorSet&) {
    if (!PyErr_ExceptionMatches(PyExc_OverflowError) && !PyErr_ExceptionMatches(PyExc_ValueError)) {
      throw;
    }
    PyErr_Clear();
    Py_RETURN_FALSE;
  }
}

Casting casting_argument(PyObject* object, const char* op) {
  const bool is_text = PyUnicode_Check(object);
  for (int i = 0; is_text && i < static_cast<int>(std::size(kCastingNames)); ++i) {
    if (PyUnicode_CompareWithASCIIString(object, kCastingNames[i]) == 0) {
      return static_cast<Casting>(i);
    }
  }
  const Reference given(checked(PyObject_Repr(object)));
  const char* text = PyUnicode_AsUTF8(given.get());
  if (!text) throw PythonErrorSet{};
  fail(is_text ? ErrorKind::value : ErrorKind::type, "[", op,
       "] expected casting 'no', 'equiv', 'safe', 'same_kind' or 'unsafe', got ", text);
}

/// castable(from, to, casting, op)
PyObject* castable(Arguments given) {
  const char* op = utf8(given[3]);
  return PyBool_FromLong(can_cast(parse_dtype(given[0], op), parse_dtype(given[1], op),
                                  casting_argument(given[2], op)));
}

PyObject* require_castable_of(Arguments given) {
  const char* op = PyUnicode_AsUTF8(given[0]);
  if (!op) throw PythonErrorSet{};
  require_castable(op, parse_dtype(given[1], op), parse_dtype(given[2], op),
                   casting_argument(given[3], op));
  Py_RETURN_NONE;
}

/// canonical(dtype, op)
PyObject* canonical_of(Arguments given) {
  auto* descr = reinterpret_cast<PyObject*>(descr_of(parse_dtype(given[0], utf8(given[1]))));
  Py_INCREF(descr);
  return descr;
}

PyObject* set_bfloat16_of(Arguments given) {
  if (!PyArray_DescrCheck(given[0])) {
    fail(ErrorKind::type, "[set_bfloat16] expected a dtype, got ", Py_TYPE(given[0])->tp_name);
  }
  set_bfloat16(reinterpret_cast<PyArray_Descr*>(given[0]));
  Py_RETURN_NONE;
}

/// held(data, op)
PyObject* held_of(Arguments given) {
  const char* op = PyUnicode_AsUTF8(given[1]);
  if (!op) throw PythonErrorSet{};
  return held_data(given[0], op);
}

/// integers(sequence_or_integer, op)
PyObject* integers_of(Arguments given) {
  const char* op = PyUnicode_AsUTF8(given[1]);
  if (!op) throw PythonErrorSet{};
  return dims_tuple(parse_dims(given[0], op));
}

PyObject* shared_array_of(Arguments given) {
  require_tensor(given[0], "__array__");
  return shared_array(given[0]);
}

PyObject* raise_unseen_of(Arguments given) {
  raise_unseen(given[0]);
  Py_RETURN_NONE;
}

/// layouts(operands): shapes, strides and dtypes as bytes; None where one is no tensor.
PyObject* layouts_of(Arguments given) {
  SmallVector<int64_t, 32> words;  // of each: dtype, number of dimensions, shape, strides
  for (PyObject* operand : Items::of_list(given[0], "layouts")) {
    const Tensor* x = tensor_or_null(operand);
    if (!x) Py_RETURN_NONE;
    words.push_back(static_cast<int64_t>(x->dtype));
    words.push_back(x->ndim());
    for (const int64_t extent : x->shape) words.push_back(extent);
    for (const int64_t step : x->strides) words.push_back(step);
  }
  const auto size = static_cast<Py_ssize_t>(words.size() * sizeof(int64_t));
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(words.data()), size);
}

/// raw_strides(x): with the numbers that stand for unknown extents.
PyObject* raw_strides(Arguments given) {
  return dims_tuple(require_tensor(given[0], "strides").strides);
}

/// parts_of_layouts(bytes): (shape, strides, dtype) of each.
PyObject* parts_of_layouts(Arguments given) {
  char* bytes;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(given[0], &bytes, &size) < 0) throw PythonErrorSet{};
  std::vector<int64_t> words(size / sizeof(int64_t));
  std::memcpy(words.data(), bytes, words.size() * sizeof(int64_t));
  Reference parts(checked(PyList_New(0)));
  for (size_t at = 0; at + 2 <= words.size();) {
    const int64_t dtype = words[at], ndim = words[at + 1];
    const auto left = static_cast<int64_t>(words.size() - at - 2);
    if (dtype < 0 || dtype >= kDTypeCount || ndim < 0 || ndim > kMaxDims || 2 * ndim > left) {
      fail(ErrorKind::value, "[parts_of_layouts] expected bytes of layouts");
    }
    Dims dims[2];
    for (int64_t i = 0; i < 2 * ndim; ++i) dims[i / ndim].push_back(words[at + 2 + i]);
    const Reference shape(dims_tuple(dims[0])), strides(dims_tuple(dims[1]));
    auto* const descr = reinterpret_cast<PyObject*>(descr_of(static_cast<DType>(dtype)));
    const Reference part(checked(PyTuple_Pack(3, shape.get(), strides.get(), descr)));
    if (PyList_Append(parts.get(), part.get()) < 0) throw PythonErrorSet{};
    at += 2 + 2 * ndim;
  }
  return parts.release();
}

/// The value that a step makes of earlier ones; borrowed arguments, of which nobody else knows.
PyObject* run_step(const Items& step, PyObject* values) {
  SmallVector<PyObject*, 8> arguments;
  for (int k : {1, 2}) {
    if (step[k] == Py_None) continue;
    PyObject* const value = PyList_GetItem(values, PyLong_AsSsize_t(step[k]));
    arguments.push_back(checked(value));
  }
  const Items others = Items::of_list(step[3], "run_steps");
  for (PyObject* argument : others) arguments.push_back(argument);
  return checked(PyObject_Vectorcall(step[0], arguments.data(), arguments.size(), nullptr));
}

/// run_steps(operands, steps): the last value. A step is (function, place of the first operand, of
/// the second or None, other arguments, places of values that are not needed again); its value
/// comes behind those before it, the first of which are the operands.
PyObject* run_steps_of(Arguments given) {
  const Reference values(checked(PySequence_List(given[0])));
  const Items steps = Items::of_list(given[1], "run_steps");
  for (PyObject* each : steps) {
    const Items step = Items::of_list(each, "run_steps");
    if (step.size() != 5) fail(ErrorKind::value, "[run_steps] expected 5 parts of each step");
    const Reference made(run_step(step, values.get()));
    if (PyList_Append(values.get(), made.get()) < 0) throw PythonErrorSet{};
    for (PyObject* place : Items::of_list(step[4], "run_steps")) {
      Py_INCREF(Py_None);
      if (PyList_SetItem(values.get(), PyLong_AsSsize_t(place), Py_None) < 0) {
        throw PythonErrorSet{};
      }
    }
  }
  PyObject* const last = checked(PyList_GetItem(values.get(), PyList_GET_SIZE(values.get()) - 1));
  Py_INCREF(last);
  return last;
}

PyMethodDef functions[] = {positional<set_converter, 1>("set_converter"),
                           positional<astype, 3>("astype"),
                           positional<copy_of, 1>("copy"),
                           positional<layouts_of, 1>("layouts"),
                           positional<raw_strides, 1>("raw_strides"),
                           positional<parts_of_layouts, 1>("parts_of_layouts"),
                           positional<run_steps_of, 2>("run_steps"),
                           positional<to_device_of, 3>("to_device"),
                           positional<assign_of, 2>("assign"),
                           positional<fill_of, 2>("fill"),
                           positional<reshaped, 3>("reshape"),
                           positional<permuted, 2>("permute"),
                           positional<broadcast_of, 2>("broadcast_to"),
                           positional<diagonal_of, 4>("diagonal"),
                           positional<where_function, 3>("where"),
                           positional<matmul_of, 2>("matmul"),
                           positional<reduced, 6>("reduce"),
                           positional<arg_reduced, 4>("arg_reduce"),
                           positional<canonical_of, 2>("canonical"),
                           positional<scalar_fits, 2>("scalar_fits"),
                           positional<castable, 4>("castable"),
                           positional<require_castable_of, 4>("require_castable"),
                           positional<held_of, 2>("held"),
                           positional<integers_of, 2>("integers"),
                           positional<set_bfloat16_of, 1>("set_bfloat16"),
                           positional<shared_array_of, 1>("shared_array"),
                           positional<raise_unseen_of, 1>("raise_unseen"),
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* converted(PyObject* data, PyObject* dtype, PyObject* device, PyObject* copy) {
  if (!converter) fail(ErrorKind::runtime, "[tensor] expected a converter, got none yet");
  PyObject* const given[] = {data, dtype, device, copy};
  return checked(PyObject_Vectorcall(converter, given, std::size(given), nullptr));
}

PyObject* cast_tensor(PyObject* x, DType dtype, bool copy) {
  const Tensor& tensor = tensor_of(x);
  if (tensor.dtype == dtype && !copy) {
    Py_INCREF(x);
    return x;
  }
  require_castable("astype", tensor.dtype, dtype, Casting::unsafe);
  return wrap(cast_like(issuer(), tensor, dtype, "astype"));
}

PyObject* move_tensor(PyObject* x, Device device, bool copy) {
  const Tensor& tensor = tensor_of(x);
  if (tensor.device() != device || copy) return wrap(to_device(issuer(), tensor, device, copy));
  Py_INCREF(x);
  return x;
}

PyObject* copy_tensor(const Tensor& x) { return wrap(cast_copy(issuer(), x, x.dtype, "copy")); }

Dims parse_axes(PyObject* axes, const char* op) {
  refuse_extents(axes, op);
  return parse_dims(axes, op);
}

Dims parse_new_shape(PyObject* shape, const char* op) {
  Dims dims;
  if (read_shape(shape, &dims)) return dims;
  dims = parse_dims(shape, op);
  for (int64_t d : dims) {
    if (d < 0) fail(ErrorKind::value, "[", op, "] negative dimension in shape ", shape_str(dims));
  }
  return dims;
}

PyObject* permute_tensor(const Tensor& x, const Dims& axes) {
  SmallVector<int, 4> order;
  uint32_t seen = 0;
  for (int64_t axis : axes) {
    const int normal = normalize_axis(axis, x.ndim(), "permute_dims");
    if (seen >> normal & 1) {
      fail(ErrorKind::value, "[permute_dims] axis ", axis, " is named twice");
    }
    seen |= uint32_t{1} << normal;
    order.push_back(normal);
  }
  if (order.size() != x.ndim()) {
    fail(ErrorKind::value, "[permute_dims] expected ", x.ndim(), " axes, got ", order.size());
  }
  return wrap(permute_view(x, order));
}

Reuse reuse_of(PyObject* copy) {
  if (copy == Py_None) return Reuse::where_possible;
  return truth(copy) ? Reuse::never : Reuse::always;
}

PyObject* reshape_tensor(const Tensor& x, const Dims& shape, Reuse reuse) {
  const Dims dims = resolve_shape(x, shape);
  std::optional<Tensor> view = reuse == Reuse::never ? std::nullopt : reshape_view(x, dims);
  if (view) return wrap(std::move(*view));
  if (reuse == Reuse::always) {
    fail(ErrorKind::value, "[reshape] strides do not allow a view of shape ", shape_str(dims),
         " and copy=False");
  }
  return wrap(*reshape_view(cast_copy(issuer(), x, x.dtype, "reshape"), dims));
}

/// An unknown extent as an operand: beside one of Python's numbers it is an integer, beside others
/// it has their dtype.
Reference extent_of_where(PyObject* extent, PyObject* other, const Tensor& bits) {
  if (is_tensor(other)) return Reference(extent_beside(extent, other, "where"));
  ops::TypeCode code = ops::kWeakInt;
  if (PyArray_Check(other)) {
    code = ops::code_of(dtype_of_array(reinterpret_cast<PyArrayObject*>(other), "where"));
  } else {
    classify(other, &code, "where");
  }
  const DType dtype = code < kDTypeCount ? static_cast<DType>(code) : DType::i64;
  const Reference like(wrap(make_tensor(bits.storage->state(), dtype, Dims{}, issuer().site)));
  return Reference(extent_beside(extent, like.get(), "where"));
}

/// Operands of where: the dtype is that of their sum, which promotes alike. A cast keeps the order
/// of the strides, so that the result has the strides of NumPy's.
PyObject* where_of(PyObject* condition, PyObject* x, PyObject* y) {
  const Tensor& mask = require_tensor(condition, "where");
  const Tensor bits =
      mask.dtype == DType::b1 ? mask : cast_like(issuer(), mask, DType::b1, "where");
  if (is_unknown_extent(x)) return where_of(condition, extent_of_where(x, y, bits).get(), y);
  if (is_unknown_extent(y)) return where_of(condition, x, extent_of_where(y, x, bits).get());
  PyObject* const values[2] = {x, y};
  ops::TypeCode codes[2];
  Tensor held[2];
  Input inputs[3];
  inputs[0].tensor = &bits;
  bool scalar[2] = {};
  for (int k = 0; k < 2; ++k) {
    PyObject* value = values[k];
    const OperandKind kind =
        is_tensor(value) ? OperandKind::array : classify(value, &codes[k], "where");
    scalar[k] = kind == OperandKind::scalar;
    if (scalar[k]) continue;
    if (kind == OperandKind::other) {
      fail(ErrorKind::type, "[where] expected a tensor, an array or a number, got ",
           Py_TYPE(value)->tp_name);
    }
    if (!is_tensor(value)) require_unmasked(value, "where");
    held[k] = is_tensor(value) ? tensor_of(value)
                               : from_array(reinterpret_cast<PyArrayObject*>(value), mask.device());
    codes[k] = ops::code_of(held[k].dtype);
  }
  const DType dtype = resolve(op_of(Slot::add), codes).operand[0];
  for (int k = 0; k < 2; ++k) {
    if (scalar[k]) {
      inputs[k + 1] = number_input(values[k], dtype);
    } else {
      if (held[k].dtype != dtype) held[k] = cast_like(issuer(), held[k], dtype, "where");
      inputs[k + 1].tensor = &held[k];
    }
  }
  return wrap(where(issuer(), inputs, dtype, mask.device()));
}

PyObject* reduce_tensor(const OpObject& row, const Tensor& x, PyObject* axes, DType accumulate,
                        const Scalar* initial, bool keepdims) {
  const char* name = row.op->name.c_str();
  AxisSet reduced = axes == Py_None ? AxisSet::all(x.ndim()) : AxisSet();
  if (axes != Py_None) {
    for (int64_t axis : parse_axes(axes, name)) {
      const int normal = normalize_axis(axis, x.ndim(), name);
      if (reduced.has(normal)) {
        fail(ErrorKind::value, "[", name, "] axis ", axis, " is named twice");
      }
      reduced.add(normal);
    }
  }
  return wrap(
      reduce(issuer(), *row.op, resolve_reduction(row, accumulate), x, reduced, initial, keepdims));
}

PyObject* arg_reduce_tensor(const Tensor& x, int axis, bool keepdims, bool minimum) {
  return wrap(arg_reduce(issuer(), minimum ? "argmin" : "argmax", x, axis, keepdims, minimum));
}

void init_tensor_functions(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
  if (PyModule_AddStringConstant(module, "NO_BFLOAT16", kNoBFloat16) < 0) throw PythonErrorSet{};
}

}  // namespace ofl::python
