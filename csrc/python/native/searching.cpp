// Native paths of functions that search each element in sorted ones: searchsorted, interp.
#include <algorithm>
#include <cmath>

#include "python/convert.h"
#include "python/native/function.h"
#include "python/native/lists.h"
#include "python/runtime.h"
#include "python/tensor/functions.h"
#include "tensor/submit.h"

namespace ofl::python {

namespace {

constexpr int kMostInputs = 5;  // of interp

Tensor tensor_of_number(const Scalar& value, DType dtype, const Dims& shape, Device device) {
  Tensor made;
  if (full_here(runtime().machine, device, dtype, shape, &value, &made)) return made;
  return full(issuer(), device, dtype, shape, value);
}

Tensor flat_view(const Tensor& x) {
  const Dims shape{x.size()};
  const std::optional<Tensor> view = reshape_view(x, shape);
  return view ? *view : *reshape_view(contiguous(issuer(), x), shape);
}

/// The cost of a search kernel is that of needles with eight steps each. Those with more steps
/// count as more needles.
double steps_of_search(int64_t needles, int64_t elements) {
  constexpr double kUsualSteps = 8;
  const double steps = std::log2(static_cast<double>(elements) + 1);
  return static_cast<double>(needles) * std::max(1.0, steps / kUsualSteps);
}

/// Runs a kernel that makes an element of each one of its second input, which has any shape, by a
/// search in the first. Inputs with gaps are packed before: each helper would do that again.
PyObject* call_for_each(ArrayPlan plan, DType dtype) {
  const Issuer from = issuer();
  Tensor packed[kMostInputs];
  for (int k = 0; k < plan.inputs.size(); ++k) {
    if (k == 1 || plan.inputs[k]->contiguous()) continue;
    packed[k] = contiguous(from, *plan.inputs[k]);
    plan.inputs[k] = &packed[k];
  }
  plan.elements = steps_of_search(plan.inputs[1]->size(), plan.inputs[0]->size());
  const Tensor& x = *plan.inputs[1];
  const Tensor flat = flat_view(x);
  Tensor out = make_tensor(plan.inputs[0]->storage->state(), dtype, x.shape, from.site);
  const Tensor flat_out = flat_view(out);
  plan.inputs[1] = &flat;
  plan.outputs = {&flat_out};
  submit(from, plan);
  return wrap(std::move(out));
}

std::optional<bool> is_right(PyObject* side) {
  if (!PyUnicode_CheckExact(side)) return std::nullopt;
  if (PyUnicode_CompareWithASCIIString(side, "right") == 0) return true;
  if (PyUnicode_CompareWithASCIIString(side, "left") == 0) return false;
  return std::nullopt;
}

/// searchsorted(x1, x2, side, sorter), where both have one dtype after NumPy's promotion.
PyObject* searchsorted_path(const Call& call) {
  const Tensor *x = tensor_or_null(call[0]), *needles = tensor_or_null(call[1]);
  const std::optional<bool> right = is_right(call[2]);
  if (!x || x->ndim() != 1 || !right || call[3] != Py_None) return nullptr;
  Tensor number;
  if (!needles) {
    Scalar value;
    const bool keeps_dtype = x->dtype == DType::f64 || x->dtype == DType::i64;
    if (!keeps_dtype || !store_number(call[1], x->dtype, &value)) return nullptr;
    number = tensor_of_number(value, x->dtype, {}, x->device());
    needles = &number;
  }
  if (needles->dtype != x->dtype) return nullptr;
  return call_for_each(
      {"searchsorted", ops::KernelId::search_sorted, {x, needles}, {}, {int64_t{*right}}, {}},
      DType::i64);
}

/// Whether real numbers ascend, as NumPy's digitize() asks: the first two that differ rise, and
/// none falls. False for NaN among them.
template <typename T>
bool ascend(const T* values, int64_t n) {
  bool rises = true;
  for (int64_t i = 1; i < n; ++i) {
    rises &= static_cast<double>(values[i - 1]) <= static_cast<double>(values[i]);
  }
  return rises;
}

/// It is known at once that the bins of a common dtype ascend.
bool ascend_here(const Tensor& bins) {
  constexpr int64_t kManyBytes = 65536;  // some microseconds
  vm::VirtualMachine& machine = runtime().machine;
  if (!readable_here(machine, bins, kManyBytes)) return false;
  machine.note_look();
  const int64_t n = bins.size();
  const char* const data = bins.address();
  switch (bins.dtype) {
    case DType::f64: return ascend(reinterpret_cast<const double*>(data), n);
    case DType::f32: return ascend(reinterpret_cast<const float*>(data), n);
    case DType::i64: return ascend(reinterpret_cast<const int64_t*>(data), n);
    case DType::i32: return ascend(reinterpret_cast<const int32_t*>(data), n);
    default: return false;
  }
}

/// digitize(x, bins, right), of one dtype and ascending
PyObject* digitize_path(const Call& call) {
  const Tensor *x = tensor_or_null(call[0]), *bins = tensor_or_null(call[1]);
  if (!x || !bins || x->dtype != bins->dtype || x->device() != bins->device()) return nullptr;
  if (bins->ndim() != 1 || !is_flag(call[2]) || !ascend_here(*bins)) return nullptr;
  const int64_t right = call[2] == Py_False;
  return call_for_each({"searchsorted", ops::KernelId::search_sorted, {bins, x}, {}, {right}, {}},
                       DType::i64);
}

/// A tensor, number or list as a tensor of real numbers; null for everything else.
Reference real_operand(PyObject* object, Device device) {
  if (is_tensor(object)) {
    if (info(tensor_of(object).dtype).kind == DTypeKind::complex) return Reference(nullptr);
    Py_INCREF(object);
    return Reference(object);
  }
  Scalar value;
  if (store_number(object, DType::f64, &value)) {
    return Reference(wrap(tensor_of_number(value, DType::f64, {}, device)));
  }
  return Reference(tensor_of_lists(object, DType::f64, device));
}

/// The given end, or where there is none an element of the values.
std::optional<Tensor> end_of(const Tensor& values, int64_t place, PyObject* given) {
  if (given != Py_None) {
    Scalar value;
    if (!store_number(given, DType::f64, &value)) return std::nullopt;
    return tensor_of_number(value, DType::f64, {1}, values.device());
  }
  Tensor end = values;
  end.offset += place * values.strides[0];
  end.shape[0] = 1;
  return end;
}

/// Of x, points and values that fit together.
PyObject* call_interp(const Reference (&given)[3], PyObject* left, PyObject* right) {
  const auto as_double = [](const Reference& x) { return cast_tensor(x.get(), DType::f64, false); };
  const Reference doubles[3] = {Reference(as_double(given[0])), Reference(as_double(given[1])),
                                Reference(as_double(given[2]))};
  const Tensor &x = tensor_of(doubles[0].get()), &points = tensor_of(doubles[1].get());
  const Tensor& values = tensor_of(doubles[2].get());
  const std::optional<Tensor> below = end_of(values, 0, left);
  const std::optional<Tensor> above = end_of(values, values.size() - 1, right);
  if (!below || !above) return nullptr;
  return call_for_each(
      {"interp", ops::KernelId::interpolate, {&points, &x, &values, &*below, &*above}, {}, {0}, {}},
      DType::f64);
}

/// interp(x, xp, fp, left, right, period)
PyObject* interp_path(const Call& call) {
  if (call[5] != Py_None) return nullptr;
  const Arguments end = call.values + 3;
  const Arguments first = std::find_if(call.values, end, is_tensor);
  const Device device = first == end ? default_device() : tensor_of(*first).device();
  if (!ep::backend_of(device.type).runs_host_kernels) return nullptr;
  const Reference given[3] = {real_operand(call[0], device), real_operand(call[1], device),
                              real_operand(call[2], device)};
  if (!given[0].get() || !given[1].get() || !given[2].get()) return nullptr;
  const Tensor &points = tensor_of(given[1].get()), &values = tensor_of(given[2].get());
  if (points.ndim() != 1 || points.shape != values.shape || points.size() == 0) return nullptr;
  return call_interp(given, call[3], call[4]);
}

}  // namespace

const NativeRow kSearchingPaths[] = {{"searchsorted", searchsorted_path},
                                     {"digitize", digitize_path},
                                     {"interp", interp_path},
                                     {nullptr, nullptr}};

}  // namespace ofl::python
