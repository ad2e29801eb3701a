#include "graph/planning/replay.h"

#include <algorithm>

#include "graph/planning/array_check.h"
#include "graph/recording/host_object.h"
#include "tensor/alignment.h"
#include "tensor/layout.h"
#include "tensor/submit.h"

namespace ofl {

namespace {

constexpr int kAnyNumber = 1 << 30;

/// What a call of a kind has. Calls are read from text, so each is looked at before it is made.
struct Form {
  CallKind kind;
  int least, most;  // operands
  int attrs;        // kAnyNumber: the kernel's, or as many as there are dimensions
  int made;
  bool has_row, may_write;
};
constexpr Form kForms[] = {
    {CallKind::elementwise, 1, ops::kMaxInputs, 0, 0, true, true},
    {CallKind::where, 3, 3, 0, 1, false, false},
    {CallKind::copy, 1, 1, 1, 1, false, true},
    {CallKind::fill, 1, 1, 0, 1, false, true},
    {CallKind::empty, 0, 0, 0, 1, false, false},
    {CallKind::reduce, 1, 2, 2, 0, true, false},
    {CallKind::arg_reduce, 1, 1, 3, 0, false, false},
    {CallKind::matmul, 2, 2, 0, 0, true, false},
    {CallKind::concat, 1, kAnyNumber, 1, 0, false, false},
    {CallKind::transfer, 1, 1, 0, 0, false, false},
    {CallKind::array, 0, kAnyNumber, kAnyNumber, kAnyNumber, false, true},
    {CallKind::view, 1, 1, kAnyNumber, 0, false, false},
    {CallKind::host, 0, kAnyNumber, 0, 0, false, true},
    {CallKind::source, 0, 0, 0, kAnyNumber, false, false},
};
constexpr bool forms_are_in_order() {
  for (int kind = 0; kind < kCallKinds; ++kind) {
    if (kForms[kind].kind != static_cast<CallKind>(kind)) return false;
  }
  return true;
}
static_assert(sizeof(kForms) / sizeof(kForms[0]) == kCallKinds && forms_are_in_order());

void check_form(const OpCall& call, int count, int target_count) {
  const Form& form = kForms[static_cast<int>(call.kind)];
  const auto made = static_cast<int>(call.made.size());
  const char* const kind = kCallKindNames[static_cast<int>(call.kind)];
  const int least = call.op && call.kind == CallKind::elementwise ? call.op->nin : form.least;
  const int most = call.kind == CallKind::elementwise ? least : form.most;
  if (count < least || count > most) {
    fail(ErrorKind::value, "[", call.name, "] expected ", least, " operands, got ", count);
  }
  if (form.has_row && !(call.op && call.resolution)) {
    fail(ErrorKind::value, "[", call.name, "] a call of kind ", kind, " has no operation");
  }
  const bool has_attrs = form.attrs == kAnyNumber || call.attr.size() == form.attrs;
  if (!has_attrs || (form.made != kAnyNumber && made != form.made)) {
    fail(ErrorKind::value, "[", call.name, "] the attributes are not those of a call of kind ",
         kind);
  }
  const bool has_any_outputs = call.kind == CallKind::array || call.kind == CallKind::host;
  const int outputs = has_any_outputs ? target_count + made : 1;
  const bool is_beyond = outputs < 32 && call.targets >> outputs;
  if (is_beyond || (call.targets && !form.may_write)) {
    fail(ErrorKind::value, "[", call.name, "] a call of kind ", kind, " cannot write there");
  }
}

void check_axis(const char* name, int64_t axis, const Tensor& x) {
  if (axis < 0 || axis >= x.ndim()) {
    fail(ErrorKind::value, "[", name, "] axis ", axis, " is out of bounds for shape ",
         shape_str(x.shape));
  }
}

/// The operands of a call that is made again, and its results.
struct Replay {
  const Issuer& issuer;
  const OpCall& call;
  const Input* inputs;
  const Tensor* const* targets;
  int target_count;

  const Tensor& tensor(int k) const {
    if (inputs[k].tensor) return *inputs[k].tensor;
    fail(ErrorKind::value, "[", call.name, "] operand ", k, " is a scalar, expected a tensor");
  }
  const Tensor* target() const { return target_count ? targets[0] : nullptr; }

  /// A new tensor. Each byte is in it once, in any order.
  Tensor made(vm::DeviceState& state, int k) const {
    const NewTensor& type = call.made[k];
    if (!lies_densely(type.shape, type.strides, static_cast<int64_t>(size_of(type.dtype)))) {
      fail(ErrorKind::value, "[", call.name, "] a result of shape ", shape_str(type.shape),
           " cannot have the strides ", shape_str(type.strides));
    }
    Tensor result = make_tensor(state, type.dtype, type.shape, issuer.site);
    result.strides = type.strides;
    return result;
  }

  const Input& number(int k) const {
    if (!inputs[k].tensor) return inputs[k];
    fail(ErrorKind::value, "[", call.name, "] operand ", k, " is a tensor, expected a number");
  }

  Tensor fill() const {
    const Input& value = number(0);
    if (!target()) return full(issuer, made(issuer.machine.state(call.device), 0), value);
    ofl::fill(issuer, *target(), value, call.name);
    return *target();
  }

  Tensor elementwise() const {
    const auto is_tensor = [](const Input& x) { return x.tensor != nullptr; };
    if (!std::any_of(inputs, inputs + call.op->nin, is_tensor)) {
      fail(ErrorKind::value, "[", call.name, "] expected a tensor among the operands, got numbers");
    }
    if (!target()) return ofl::elementwise(issuer, *call.op, *call.resolution, inputs);
    elementwise_into(issuer, *call.op, *call.resolution, inputs, *target());
    return *target();
  }

  Tensor copy() const {
    const DType dtype = call.made[0].dtype;
    if (target()) {
      assign(issuer, *target(), tensor(0), call.name);
      return *target();
    }
    return call.attr[0] ? cast_like(issuer, tensor(0), dtype, call.name)
                        : cast_copy(issuer, tensor(0), dtype, call.name);
  }

  Tensor reduce(int count) const {
    const Tensor& x = tensor(0);
    if (call.attr[0] < 0 || call.attr[0] >> x.ndim()) {
      fail(ErrorKind::value, "[", call.name, "] there are axes out of bounds for shape ",
           shape_str(x.shape));
    }
    const AxisSet reduced(static_cast<uint32_t>(call.attr[0]));
    const Scalar* const initial = count > 1 ? &number(1).scalar : nullptr;
    return ofl::reduce(issuer, *call.op, *call.resolution, x, reduced, initial, call.attr[1]);
  }

  Tensor arg_reduce() const {
    const int64_t axis = call.attr[0];
    if (axis != -1) check_axis(call.name, axis, tensor(0));
    return ofl::arg_reduce(issuer, call.name, tensor(0), static_cast<int>(axis), call.attr[1],
                           call.attr[2]);
  }

  Tensor concat(int count) const {
    check_axis(call.name, call.attr[0], tensor(0));
    std::vector<Tensor> parts;
    for (int k = 0; k < count; ++k) parts.push_back(tensor(k));
    return concatenate(issuer, parts, static_cast<int>(call.attr[0]));
  }

  void check_inside(const Tensor& x) const {
    const auto itemsize = static_cast<int64_t>(size_of(x.dtype));
    if (count_elements(x.shape, itemsize, call.name) == 0) return;
    const Extent extent = extent_of(x.shape, x.strides, itemsize);
    const auto bytes = static_cast<int64_t>(x.storage->bytes());
    // The sums fit: an extent that is no longer than the memory, at an offset inside of it.
    const bool is_inside = x.offset >= -extent.low && x.offset <= bytes - extent.high;
    if (!is_inside) {
      fail(ErrorKind::value, "[", call.name, "] reaches beyond the operand's memory of ", bytes,
           " bytes");
    }
  }

  /// Elements of the view begin where kernels may read them, if those of the operand do. The bytes
  /// that arguments share may begin anywhere: of a stricter dtype than theirs only strides tell.
  void check_aligned(const Tensor& x) const {
    const Device device = x.device();
    const int64_t align = alignment_of(device, x.dtype);
    const bool is_stricter = align > alignment_of(device, tensor(0).dtype);
    const int64_t behind = is_stricter ? 0 : call.attr[1];
    if (x.size() == 0 || is_aligned(x, static_cast<uintptr_t>(behind), align)) return;
    fail(ErrorKind::value, "[", call.name, "] ", name_of(x.dtype), " begins at multiples of ",
         align, " bytes: the view is ", call.attr[1], " bytes behind its operand, strides are ",
         shape_str(x.strides));
  }

  Tensor view() const {
    Tensor x = tensor(0);
    const int ndim = (call.attr.size() - 2) / 2;
    if (call.attr.size() != 2 + 2 * ndim || ndim < 0 || ndim > kMaxDims || call.attr[0] < 0 ||
        call.attr[0] >= kDTypeCount) {
      fail(ErrorKind::value, "[", call.name, "] the attributes are not those of a view");
    }
    x.dtype = static_cast<DType>(call.attr[0]);
    if (__builtin_add_overflow(x.offset, call.attr[1], &x.offset)) {
      fail(ErrorKind::value, "[", call.name, "] the offset of ", call.attr[1],
           " bytes reaches further than 64 bits count");
    }
    x.shape.resize(ndim);
    x.strides.resize(ndim);
    for (int d = 0; d < ndim; ++d) {
      x.shape[d] = call.attr[2 + d];
      x.strides[d] = call.attr[2 + ndim + d];
    }
    check_inside(x);
    check_aligned(x);
    return x;
  }

  std::vector<Tensor> array(int count) const {
    vm::DeviceState& state = issuer.machine.state(count ? tensor(0).device() : call.device);
    std::vector<Tensor> results;
    const size_t outputs = target_count + call.made.size();
    int written = 0, next = 0;
    while (results.size() < outputs) {
      if (call.targets >> results.size() & 1) {
        results.push_back(*targets[written++]);
      } else {
        results.push_back(made(state, next++));
      }
    }
    ArrayPlan plan{call.name, call.kernel, {}, {}, call.attr, call.loop, call.elements};
    for (int k = 0; k < count; ++k) plan.inputs.push_back(&tensor(k));
    for (const Tensor& x : results) plan.outputs.push_back(&x);
    plan.targets = call.targets;
    check_arrays(plan);
    submit(issuer, plan);
    return results;
  }

  std::vector<Tensor> host(int count) const {
    std::vector<Tensor> reads, writes;
    for (int k = 0; k < count; ++k) reads.push_back(tensor(k));
    for (int k = 0; k < target_count; ++k) writes.push_back(*targets[k]);
    call_host(issuer, call, reads, writes);
    return writes;
  }

  std::vector<Tensor> source() const {
    if (issuer.sink) return take_source(issuer, call);
    fail(ErrorKind::value, "[", call.name, "] is made on the host before the program runs");
  }
};

}  // namespace

std::vector<Tensor> replay(const Issuer& issuer, const OpCall& call, const Input* inputs, int count,
                           const Tensor* const* targets, int target_count) {
  if (__builtin_popcount(call.targets) != target_count) {
    fail(ErrorKind::value, "[", call.name, "] expected ", __builtin_popcount(call.targets),
         " tensors to write to, got ", target_count);
  }
  check_form(call, count, target_count);
  for (int k = 0; k < target_count; ++k) require_writable(call.name, *targets[k]);
  const Replay again{issuer, call, inputs, targets, target_count};
  switch (call.kind) {
    case CallKind::elementwise: return {again.elementwise()};
    case CallKind::where: return {where(issuer, inputs, call.made[0].dtype, call.device)};
    case CallKind::copy: return {again.copy()};
    case CallKind::fill: return {again.fill()};
    case CallKind::empty: return {empty(issuer, again.made(issuer.machine.state(call.device), 0))};
    case CallKind::reduce: return {again.reduce(count)};
    case CallKind::arg_reduce: return {again.arg_reduce()};
    case CallKind::matmul:
      return {matmul(issuer, *call.op, *call.resolution, again.tensor(0), again.tensor(1))};
    case CallKind::concat: return {again.concat(count)};
    case CallKind::transfer: return {to_device(issuer, again.tensor(0), call.device, true)};
    case CallKind::array: return again.array(count);
    case CallKind::view: return {again.view()};
    case CallKind::host: return again.host(count);
    case CallKind::source: return again.source();
  }
  fail(ErrorKind::runtime, "[replay] unknown kind of call");
}

}  // namespace ofl
