// Native paths of running sums and products, of differences, which undo such sums, and of powers,
// which are running products.
#include <optional>

#include "python/convert.h"
#include "python/dtypes.h"
#include "python/native/function.h"
#include "python/native/reductions.h"
#include "python/ops/array_functions.h"
#include "python/ops/registry.h"
#include "python/runtime.h"
#include "python/tensor/functions.h"
#include "python/tensor/unknown_extents.h"
#include "tensor/layout.h"
#include "tensor/submit.h"

namespace ofl::python {

namespace {

/// NumPy's loop of a binary row that takes and gives a dtype; searched for once.
template <Slot slot>
const ops::Loop& loop_of(DType dtype) {
  static ops::Loop loops[kDTypeCount];
  ops::Loop& loop = loops[static_cast<int>(dtype)];
  if (!loop.function) {
    const char type = descr_of(dtype)->type;
    loop = find_loop(op_of(slot).ufunc, {type, type, '-', '>', type});
  }
  return loop;
}

/// The running sums or products of x along an axis, in the dtype of its sums.
template <Slot slot>
PyObject* accumulated(const char* name, PyObject* x, int axis) {
  const DType dtype = sum_dtype(tensor_of(x).dtype);
  const Reference cast(cast_tensor(x, dtype, false));
  const Tensor& given = tensor_of(cast.get());
  const Issuer from = issuer();
  const Input input(&given);
  Tensor out = make_like(&input, 1, given.shape, dtype, given.storage->state(), from.site);
  const ops::OpDef& op = *op_of(slot).op;
  const bool is_exact = op.adds || (op.exact && info(dtype).kind != DTypeKind::complex);
  const bool is_associative = true;  // but for rounding
  submit(from, {name,
                ops::KernelId::accumulate,
                {&given},
                {&out},
                {axis, int64_t{is_exact}, int64_t{is_associative}, int64_t{op.adds}},
                loop_of<slot>(dtype)});
  return wrap(std::move(out));
}

/// x, where sums of it are made in a dtype of NumPy.
bool is_known(const Tensor* x) {
  return x && x->ndim() > 0 && x->dtype != DType::bf16 && !may_have_stand_ins(*x);
}

/// cumsum(x, axis, dtype) and cumprod: without an axis, of the flattened tensor
template <Slot slot>
PyObject* flattened_path(const Call& call) {
  static const char* const name = intern(utf8(call.name));
  const Tensor* x = tensor_or_null(call[0]);
  if (!is_known(x) || call[2] != Py_None) return nullptr;
  if (call[1] != Py_None || x->ndim() == 1) {
    const std::optional<int> axis = call[1] == Py_None ? 0 : known_axis(call[1], x->ndim());
    return axis ? accumulated<slot>(name, call[0], *axis) : nullptr;
  }
  const Reference flat(reshape_tensor(*x, {x->size()}, Reuse::where_possible));
  return accumulated<slot>(name, flat.get(), 0);
}

/// cumulative_sum(x, axis, dtype, include_initial) and cumulative_prod
template <Slot slot>
PyObject* cumulative_path(const Call& call) {
  static const char* const name = intern(utf8(call.name));
  const Tensor* x = tensor_or_null(call[0]);
  if (!is_known(x) || call[2] != Py_None || call[3] != Py_False) return nullptr;
  const bool is_vector = x->ndim() == 1 && call[1] == Py_None;
  const std::optional<int> axis = is_vector ? 0 : known_axis(call[1], x->ndim());
  return axis ? accumulated<slot>(name, call[0], *axis) : nullptr;
}

/// diff(x, n, axis, prepend, append): once, of x alone
PyObject* diff_path(const Call& call) {
  const Tensor* x = tensor_or_null(call[0]);
  const bool is_alone = call[3] == Py_None && call[4] == Py_None;
  if (!x || !is_alone || known_integer(call[1]) != 1 || may_have_stand_ins(*x)) return nullptr;
  const std::optional<int> axis = known_axis(call[2], x->ndim());
  if (!axis || x->shape[*axis] == 0) return nullptr;
  Tensor earlier{x->storage, x->dtype, x->shape, x->strides, x->offset};
  --earlier.shape[*axis];
  Tensor later = earlier;
  if (later.shape[*axis] > 0) later.offset += later.strides[*axis];
  const Slot slot = x->dtype == DType::b1 ? Slot::ne : Slot::sub;
  const Reference first(wrap(std::move(later))), second(wrap(std::move(earlier)));
  PyObject* const pair[] = {first.get(), second.get()};
  return call_op(op_of(slot), pair, 2, false);
}

/// A row of powers from 0 on for each of n values; they begin at `first`, one `step` apart.
template <typename T>
void write_powers(const char* values, int64_t n, int64_t count, int64_t first, int64_t step,
                  char* out) {
  auto* row = reinterpret_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i, row += count) {
    const T value = reinterpret_cast<const T*>(values)[i];
    T power = 1;
    T* place = row + first;
    for (int64_t k = 0; k < count; ++k, place += step) {
      *place = power;
      power *= value;
    }
  }
}

/// vander(x, N, increasing), small and of real numbers
PyObject* vander_path(const Call& call) {
  constexpr int64_t kManyBytes = 65536;  // of the result: some microseconds
  const Tensor* x = tensor_or_null(call[0]);
  if (!x || x->ndim() != 1 || !is_flag(call[2])) return nullptr;
  const std::optional<int64_t> given = call[1] == Py_None ? x->size() : known_integer(call[1]);
  const Issuer from = issuer();
  const int64_t n = x->size();
  if (!given || *given < 1 || n < 1 || *given > kManyBytes / 8 / n) return nullptr;
  const DTypeKind kind = info(x->dtype).kind;
  const bool is_integer = kind == DTypeKind::signed_int || kind == DTypeKind::boolean;
  if (!is_integer && x->dtype != DType::f32 && x->dtype != DType::f64) return nullptr;
  const DType dtype = is_integer ? DType::i64 : DType::f64;
  const Reference cast(cast_tensor(call[0], dtype, false));
  const Tensor& values = tensor_of(cast.get());
  Tensor out;
  if (!readable_here(from.machine, values, kManyBytes) ||
      !make_tensor_now(values.storage->state(), dtype, {n, *given}, from.site, &out)) {
    return nullptr;
  }
  const int64_t first = call[2] == Py_True ? 0 : *given - 1, step = call[2] == Py_True ? 1 : -1;
  const auto write = is_integer ? write_powers<uint64_t> : write_powers<double>;
  write(values.address(), n, *given, first, step, out.address());
  return wrap(std::move(out));
}

}  // namespace

const NativeRow kScanPaths[] = {{"cumsum", flattened_path<Slot::add>},
                                {"cumprod", flattened_path<Slot::mul>},
                                {"cumulative_sum", cumulative_path<Slot::add>},
                                {"cumulative_prod", cumulative_path<Slot::mul>},
                                {"diff", diff_path},
                                {"vander", vander_path},
                                {nullptr, nullptr}};

}  // namespace ofl::python
