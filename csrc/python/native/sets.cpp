// Native paths of oneflow_lite/ops/sets.py.
#include "tensor/index/sets.h"

#include "python/native/function.h"
#include "python/ops/array_functions.h"
#include "python/runtime.h"

namespace ofl::python {

namespace {

/// Its elements one after the other, where they are few and here; else x itself.
Tensor packed(const Tensor& x) {
  constexpr int64_t kManyBytes = 1 << 20;
  return at_hand(runtime().machine, x, kManyBytes) ? contiguous(issuer(), x) : x;
}

/// distinct(op, x, index, inverse, counts, equal_nan): a tuple.
PyObject* distinct_path(const Call& call) {
  const Tensor* given = tensor_or_null(call[1]);
  const bool are_flags =
      is_flag(call[2]) && is_flag(call[3]) && is_flag(call[4]) && is_flag(call[5]);
  if (!given || !are_flags) return nullptr;
  const Tensor x = packed(*given);
  const bool equal_nan = call[5] == Py_True;
  const int parts = (call[2] == Py_True) + (call[3] == Py_True) + (call[4] == Py_True);
  Distinct told;
  const bool has_positions = call[2] == Py_True || call[3] == Py_True;
  Tensor* const counts = call[4] == Py_True ? &told.counts : nullptr;
  const ops::Loop sort = find_sort(has_positions ? DType::u64 : compared_dtype(x.dtype));
  const bool is_done = has_positions
                           ? distinct_here(issuer(), x, equal_nan, sort, &told)
                           : distinct_here(issuer(), x, equal_nan, sort, &told.values, counts);
  if (!is_done) return nullptr;
  Reference tuple(checked(PyTuple_New(1 + parts)));
  PyTuple_SET_ITEM(tuple.get(), 0, wrap(std::move(told.values)));
  Tensor* const others[] = {&told.first, &told.inverse, &told.counts};
  for (int k = 0, place = 1; k < 3; ++k) {
    if (call[2 + k] == Py_True) PyTuple_SET_ITEM(tuple.get(), place++, wrap(std::move(*others[k])));
  }
  return tuple.release();
}

/// union1d(x1, x2), and the others with assume_unique
template <SetOperation operation>
PyObject* combined_path(const Call& call) {
  const Tensor *a = tensor_or_null(call[0]), *b = tensor_or_null(call[1]);
  if (!a || !b || (call.count > 2 && call[2] != Py_False)) return nullptr;
  Tensor out;
  const Tensor first = packed(*a), second = packed(*b);
  const ops::Loop sort = find_sort(compared_dtype(first.dtype));
  const bool is_done = combined_here(issuer(), first, second, operation, sort, &out);
  return is_done ? wrap(std::move(out)) : nullptr;
}

}  // namespace

const NativeRow kSetPaths[] = {{"distinct", distinct_path},
                               {"intersect1d", combined_path<SetOperation::intersection>},
                               {"union1d", combined_path<SetOperation::join>},
                               {"setdiff1d", combined_path<SetOperation::difference>},
                               {"setxor1d", combined_path<SetOperation::exclusive>},
                               {nullptr, nullptr}};

}  // namespace ofl::python
