// Native paths of ops/statistics/reduction.py, and of argmax and argmin.
#include "python/native/reductions.h"

#include "python/convert.h"
#include "python/native/function.h"
#include "python/tensor/functions.h"

namespace ofl::python {

namespace {

/// None, an integer, or a tuple of them: anything else is left to the function.
bool is_axes(const Tensor& x, PyObject* axis) {
  return axis == Py_None || PyTuple_CheckExact(axis) || (PyLong_CheckExact(axis) && x.ndim() > 0);
}

const Scalar& one_of(DType dtype) {
  static const auto* const ones = [] {
    auto* values = new Scalar[kDTypeCount];
    for (int i = 0; i < kDTypeCount; ++i) values[i] = to_scalar(Py_True, static_cast<DType>(i));
    return values;
  }();
  return ones[static_cast<int>(dtype)];
}

/// sum and prod: f(x, axis, dtype, out, keepdims, initial, where)
PyObject* total(const Call& call, const OpObject& row, bool product) {
  const Tensor* x = tensor_or_null(call[0]);
  const bool plain = call[3] == Py_None && call[5] == Py_None && call[6] == Py_True;
  if (!x || !plain || !is_axes(*x, call[1]) || !is_flag(call[4])) return nullptr;
  const std::optional<DType> dtype =
      call[2] == Py_None ? sum_dtype(x->dtype) : known_dtype(call[2]);
  if (!dtype) return nullptr;
  const Scalar zero;
  return reduce_tensor(row, *x, call[1], *dtype, product ? &one_of(*dtype) : &zero,
                       call[4] == Py_True);
}

PyObject* sum_path(const Call& call) { return total(call, op_of(Slot::sum), false); }

PyObject* prod_path(const Call& call) { return total(call, op_of(Slot::prod), true); }

/// max and min: f(x, axis, out, keepdims, initial, where)
PyObject* extremum(const Call& call, const OpObject& row) {
  const Tensor* x = tensor_or_null(call[0]);
  const bool plain = call[2] == Py_None && call[4] == Py_None && call[5] == Py_True;
  if (!x || !plain || !is_axes(*x, call[1]) || !is_flag(call[3])) return nullptr;
  return reduce_tensor(row, *x, call[1], x->dtype, nullptr, call[3] == Py_True);
}

PyObject* max_path(const Call& call) { return extremum(call, op_of(Slot::max)); }

PyObject* min_path(const Call& call) { return extremum(call, op_of(Slot::min)); }

/// any and all: f(x, axis, out, keepdims, where)
PyObject* truths(const Call& call, const OpObject& row, bool every) {
  const Tensor* x = tensor_or_null(call[0]);
  const bool plain = call[2] == Py_None && call[4] == Py_True;
  if (!x || !plain || !is_axes(*x, call[1]) || !is_flag(call[3])) return nullptr;
  const Scalar no;
  return reduce_tensor(row, *x, call[1], DType::b1, every ? &one_of(DType::b1) : &no,
                       call[3] == Py_True);
}

PyObject* any_path(const Call& call) { return truths(call, op_of(Slot::any), false); }

PyObject* all_path(const Call& call) { return truths(call, op_of(Slot::all), true); }

/// f(x, axis, out, keepdims)
template <bool minimum>
PyObject* arg_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  if (!x || call[2] != Py_None || !is_flag(call[3])) return nullptr;
  const std::optional<int> axis = call[1] == Py_None ? -1 : known_axis(call[1], x->ndim());
  return axis ? arg_reduce_tensor(*x, *axis, call[3] == Py_True, minimum) : nullptr;
}

}  // namespace

DType sum_dtype(DType dtype) {
  switch (info(dtype).kind) {
    case DTypeKind::boolean:
    case DTypeKind::signed_int: return DType::i64;
    case DTypeKind::unsigned_int: return DType::u64;
    case DTypeKind::floating:
    case DTypeKind::complex: break;
  }
  return dtype;
}

const NativeRow kReductionPaths[] = {
    {"sum", sum_path},           {"prod", prod_path},        {"max", max_path},
    {"min", min_path},           {"any", any_path},          {"all", all_path},
    {"argmax", arg_path<false>}, {"argmin", arg_path<true>}, {nullptr, nullptr}};

}  // namespace ofl::python
