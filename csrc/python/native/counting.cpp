// Native paths of functions whose results depend on values: nonzero, counts, bincount,
// array_equal.
#include <cstring>
#include <optional>

#include "ops/index/places.h"
#include "python/native/data.h"
#include "python/native/function.h"
#include "python/runtime.h"
#include "python/tensor/functions.h"
#include "python/tensor/unknown_extents.h"
#include "tensor/index/counting.h"

namespace ofl::python {

namespace {

/// The rows of a tensor of two dimensions.
PyObject* rows_of(const Tensor& x) {
  Reference rows(checked(PyTuple_New(x.shape[0])));
  for (int64_t i = 0; i < x.shape[0]; ++i) {
    Tensor row;
    row.storage = x.storage;
    row.dtype = x.dtype;
    row.shape.push_back(x.shape[1]);
    row.strides.push_back(x.strides[1]);
    row.offset = x.offset + i * x.strides[0];
    PyTuple_SET_ITEM(rows.get(), i, wrap(std::move(row)));
  }
  return rows.release();
}

/// nonzero(x)
PyObject* nonzero_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  Tensor coordinates;
  return x && nonzero_here(issuer(), *x, &coordinates) ? rows_of(coordinates) : nullptr;
}

/// The condition is no tensor: it goes where the other operands are.
PyObject* where_on_data(const Call& call) {
  const Tensor* x = tensor_or_null(call[is_tensor(call[1]) ? 1 : 2]);
  const Reference condition(made_on(x ? std::optional(x->device()) : std::nullopt, call[0]));
  return where_of(condition.get(), call[1], call[2]);
}

/// where(condition, x1, x2)
PyObject* where_path(const Call& call) {
  const auto is_known = [](PyObject* object) {
    return is_tensor(object) || PyFloat_CheckExact(object) || PyLong_CheckExact(object) ||
           PyBool_Check(object) || PyComplex_CheckExact(object) || PyArray_Check(object) ||
           PyArray_IsScalar(object, Generic) || is_unknown_extent(object);
  };
  const bool has_extents = is_unknown_extent(call[1]) || is_unknown_extent(call[2]);
  if (!is_tensor(call[0])) return has_extents ? where_on_data(call) : nullptr;
  if (call[1] == Py_None && call[2] == Py_None) return nonzero_path(call);
  for (int i : {1, 2}) {
    if (!is_known(call[i])) return nullptr;
  }
  return where_of(call[0], call[1], call[2]);
}

/// count_nonzero(x, axis, keepdims)
PyObject* count_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  if (!x || call[1] != Py_None || call[2] != Py_False) return nullptr;
  constexpr int64_t kManyBytes = 32768;  // about a microsecond
  vm::VirtualMachine& machine = runtime().machine;
  if (x->ndim() == 0 || x->size() == 0 || !at_hand(machine, *x, kManyBytes)) return nullptr;
  const int64_t count = ops::count_nonzero({x->address(), x->dtype, x->shape, x->strides});
  Scalar value;
  std::memcpy(value.bytes, &count, sizeof count);
  Reference made(reinterpret_cast<PyObject*>(new_tensor_object()));
  Tensor& tensor = reinterpret_cast<TensorObject*>(made.get())->tensor;
  return full_here(machine, x->device(), DType::i64, {}, &value, &tensor) ? made.release()
                                                                          : nullptr;
}

/// bincount(x, weights, minlength)
PyObject* bincount_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  const Tensor* weights = tensor_or_null(call[1]);
  const std::optional<int64_t> fewest = known_integer(call[2]);
  const bool known = x && fewest && *fewest >= 0 && (weights || call[1] == Py_None);
  Tensor counts;
  if (!known || !bincount_here(issuer(), *x, weights, *fewest, &counts)) return nullptr;
  return wrap(std::move(counts));
}

/// array_equal(x1, x2, equal_nan): of other shapes
PyObject* array_equal_path(const Call& call) {
  const Tensor *x = tensor_or_null(call[0]), *other = tensor_or_null(call[1]);
  if (!x || !other || x->device() != other->device() || x->shape == other->shape) return nullptr;
  return may_have_stand_ins(*x) || may_have_stand_ins(*other) ? nullptr : Py_NewRef(Py_False);
}

}  // namespace

const NativeRow kCountingPaths[] = {{"nonzero", nonzero_path},         {"where", where_path},
                                    {"count_nonzero", count_path},     {"bincount", bincount_path},
                                    {"array_equal", array_equal_path}, {nullptr, nullptr}};

}  // namespace ofl::python
