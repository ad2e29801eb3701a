// Elementwise calls, copies, casts, fills, where: everything that iterates over one broadcast
// shape.
#include <cstring>

#include "tensor/fusion/worth.h"
#include "tensor/index/elements.h"
#include "tensor/layout.h"
#include "tensor/op_call.h"
#include "tensor/submit.h"

namespace ofl {

namespace {

/// One loop over all operands of the plan, which have one shape and lie in row-major order.
void plan_flat(LoopPlan& plan, const Dims& shape) {
  int64_t strides[ops::kMaxOperands] = {};
  for (int k = 0; k < plan.args.iteration.operands; ++k) {
    if (plan.operands[k]) strides[k] = static_cast<int64_t>(size_of(plan.operands[k]->dtype));
  }
  plan.add_row(element_count(shape), strides);
}

/// Fills in the loops over `shape` for all operands of the plan; scalars do not step.
void plan_loops(LoopPlan& plan, const Dims& shape) {
  ops::LoopArgs& args = plan.args;
  const int operands = args.iteration.operands;
  bool flat = true, same = true;  // of one shape, that is
  for (int k = 0; k < operands && same; ++k) {
    const Tensor* tensor = plan.operands[k];
    same = !tensor || tensor->shape == shape;
    flat = flat && same && (!tensor || tensor->contiguous());
  }
  if (flat) return plan_flat(plan, shape);
  int64_t strides[ops::kMaxOperands] = {};
  if (same) {
    for (int d = 0; d < shape.size(); ++d) {
      for (int k = 0; k < operands; ++k) {
        strides[k] = plan.operands[k] ? plan.operands[k]->strides[d] : 0;
      }
      plan.add_row(shape[d], strides);
    }
    return ops::coalesce(&args.iteration);
  }
  Dims broadcast[ops::kMaxOperands];
  for (int k = 0; k < operands; ++k) {
    const Tensor* tensor = plan.operands[k];
    if (tensor) broadcast[k] = broadcast_strides(tensor->shape, tensor->strides, shape, args.name);
  }
  for (int d = 0; d < shape.size(); ++d) {
    for (int k = 0; k < operands; ++k) strides[k] = plan.operands[k] ? broadcast[k][d] : 0;
    plan.add_row(shape[d], strides);
  }
  ops::coalesce(&args.iteration);
}

Dims common_shape(const char* name, const Input* inputs, int count) {
  Dims shape;
  bool first = true;
  for (int k = 0; k < count; ++k) {
    if (!inputs[k].tensor) continue;
    if (first) {
      shape = inputs[k].tensor->shape;
    } else if (shape != inputs[k].tensor->shape) {
      shape = broadcast_shapes(shape, inputs[k].tensor->shape, name);
    }
    first = false;
  }
  return shape;
}

const Tensor* first_tensor(const char* name, const Input* inputs, int count) {
  const Tensor* first = nullptr;
  for (int k = 0; k < count; ++k) {
    if (!inputs[k].tensor) continue;
    if (first) require_same_device(name, first->device(), inputs[k].tensor->device());
    if (!first) first = inputs[k].tensor;
  }
  return first;
}

OpCall copy_call(const char* name, DType dtype, bool like_source) {
  OpCall call(CallKind::copy, name);
  call.attr = {int64_t{like_source}};
  call.made = {{dtype, {}, {}}};
  return call;
}

/// One input, one output of the same shape (the input broadcasts).
void submit_copy(const Issuer& issuer, const char* name, const Tensor& source, const Tensor& target,
                 size_t new_bytes, bool stays_here = false) {
  LoopPlan plan(name, ops::KernelId::copy, 2);
  plan.cost = copy_cost(source, target);
  plan.set_operand(0, &source);
  plan.set_operand(1, &target);
  plan.new_bytes = new_bytes;
  plan_loops(plan, target.shape);
  submit(issuer, plan, stays_here);
}

}  // namespace

void require_same_device(const char* op, Device a, Device b) {
  if (a == b) return;
  fail(ErrorKind::value, "[", op, "] operands are on different devices, ", a.str(), " and ",
       b.str(), "; move one with .to(\"", a.str(), "\") or .to(\"", b.str(), "\")");
}

namespace {

/// Throws unless a result of `shape` may be written to `out`, where `home` is the operands' device.
void check_output(const char* name, const Tensor& out, const Dims& shape, Device home) {
  require_same_device(name, out.device(), home);
  if (out.shape != shape && broadcast_shapes(shape, out.shape, name) != out.shape) {
    fail(ErrorKind::value, "[", name, "] result of shape ", shape_str(shape),
         " does not fit into a tensor of shape ", shape_str(out.shape));
  }
  require_writable(name, out);
}

OpCall elementwise_call(const ops::OpDef& op, const ops::Resolution& resolution) {
  OpCall call(CallKind::elementwise, op.name.c_str());
  call.op = &op;
  call.resolution = &resolution;
  return call;
}

/// `flat`: all operands have the shape of the target, and lie in row-major order.
void submit_elementwise(const Issuer& issuer, const ops::OpDef& op,
                        const ops::Resolution& resolution, const Input* inputs,
                        const Tensor& target, size_t new_bytes, bool flat, bool is_given) {
  LoopPlan plan(op.name.c_str(), ops::KernelId::elementwise, op.nin + 1);
  plan.cost = resolution.cost;
  plan.args.op = &op;
  plan.args.resolution = &resolution;
  plan.new_bytes = new_bytes;
  for (int k = 0; k < op.nin; ++k) plan.set_input(k, inputs[k], resolution.operand[k]);
  plan.set_operand(op.nin, &target);
  if (flat) {
    plan_flat(plan, target.shape);
  } else {
    plan_loops(plan, target.shape);
  }
  if (is_given && target.ndim() == 0) {  // NumPy's loops see steps of 0, and may take another path
    for (int64_t& stride : plan.args.iteration.rows[0].strides) stride = 0;
  }
  submit(issuer, plan);
}

}  // namespace

Tensor elementwise(const Issuer& issuer, const ops::OpDef& op, const ops::Resolution& resolution,
                   const Input* inputs) {
  const char* const name = op.name.c_str();
  vm::DeviceState& state = first_tensor(name, inputs, op.nin)->storage->state();
  const Dims shape = common_shape(name, inputs, op.nin);
  const bool flat = are_row_major(inputs, op.nin, shape);
  Tensor result = flat ? make_tensor(state, resolution.result, shape, issuer.site)
                       : make_like(inputs, op.nin, shape, resolution.result, state, issuer.site);
  if (issuer.sink) {
    return take_one(issuer, elementwise_call(op, resolution), inputs, op.nin, result);
  }
  const size_t new_bytes = result.storage->bytes();
  submit_elementwise(issuer, op, resolution, inputs, result, new_bytes, flat, false);
  return result;
}

namespace {

/// Writes to `out`, to which inputs of this common shape broadcast.
void write_into(const Issuer& issuer, const ops::OpDef& op, const ops::Resolution& resolution,
                const Input* inputs, const Dims& shape, const Tensor& out) {
  const bool flat = out.shape == shape && out.contiguous() && are_row_major(inputs, op.nin, shape);
  // Like NumPy: where `out` overlaps an input, the result is made elsewhere and copied. A device's
  // own kernels take elements in no order.
  const bool in_order = !ops::uses_own_kernels(out.storage->state().device);
  if (!has_harmful_overlap(inputs, op.nin, resolution, out, in_order)) {
    return submit_elementwise(issuer, op, resolution, inputs, out, 0, flat, true);
  }
  const Tensor result =
      make_tensor(out.storage->state(), resolution.result, out.shape, issuer.site);
  const size_t new_bytes = result.storage->bytes();
  submit_elementwise(issuer, op, resolution, inputs, result, new_bytes, flat, true);
  submit_copy(issuer, op.name.c_str(), result, out, 0);
}

}  // namespace

void elementwise_into(const Issuer& issuer, const ops::OpDef& op, const ops::Resolution& resolution,
                      const Input* inputs, const Tensor& out) {
  const char* const name = op.name.c_str();
  const Tensor* const first = first_tensor(name, inputs, op.nin);
  const Dims shape = common_shape(name, inputs, op.nin);
  check_output(name, out, shape, first->device());
  // A loop in a wider dtype, as bfloat16's: the result is rounded to its own dtype, then cast.
  if (resolution.out != resolution.result && out.dtype != resolution.result) {
    return assign(issuer, out, elementwise(issuer, op, resolution, inputs), name);
  }
  if (issuer.sink) {
    take_one(issuer, elementwise_call(op, resolution), inputs, op.nin, out, true);
    return;
  }
  if (!is_turned(inputs, op.nin, out))
    return write_into(issuer, op, resolution, inputs, shape, out);
  const Turned turned(inputs, op.nin, out);
  write_into(issuer, op, resolution, turned.inputs(), shape, turned.out());
}

Tensor where(const Issuer& issuer, const Input* inputs, DType dtype, Device device) {
  const Tensor* first = first_tensor("where", inputs, 3);
  LoopPlan plan("where", ops::KernelId::where, 4);
  vm::DeviceState& state = first ? first->storage->state() : issuer.machine.state(device);
  const Dims shape = common_shape("where", inputs, 3);
  Tensor result = make_like(inputs, 3, shape, dtype, state, issuer.site);
  if (issuer.sink) {
    OpCall call(CallKind::where, "where");
    call.made = {{dtype, {}, {}}};
    call.device = result.device();
    return take_one(issuer, std::move(call), inputs, 3, result);
  }
  plan.new_bytes = result.storage->bytes();
  for (int k = 0; k < 3; ++k) plan.set_input(k, inputs[k], k == 0 ? DType::b1 : dtype);
  plan.set_operand(3, &result);
  plan_loops(plan, result.shape);
  submit(issuer, plan);
  return result;
}

Tensor cast_copy(const Issuer& issuer, const Tensor& x, DType dtype, const char* name) {
  Tensor result = make_tensor(x.storage->state(), dtype, x.shape, issuer.site);
  if (issuer.sink) {
    const Input input(&x);
    return take_one(issuer, copy_call(name, dtype, false), &input, 1, result);
  }
  if (copied_here(issuer, x, result)) return result;
  submit_copy(issuer, name, x, result, result.storage->bytes());
  return result;
}

Tensor cast_like(const Issuer& issuer, const Tensor& x, DType dtype, const char* name) {
  Tensor result = make_as_it_lies(x, dtype, x.shape, issuer.site);
  if (issuer.sink) {
    const Input input(&x);
    return take_one(issuer, copy_call(name, dtype, true), &input, 1, result);
  }
  if (copied_here(issuer, x, result)) return result;
  submit_copy(issuer, name, x, result, result.storage->bytes());
  return result;
}

Tensor contiguous(const Issuer& issuer, const Tensor& x) {
  return x.contiguous() ? x : cast_copy(issuer, x, x.dtype, "copy");
}

void assign(const Issuer& issuer, const Tensor& target, const Tensor& value, const char* name) {
  require_same_device(name, target.device(), value.device());
  require_writable(name, target);
  const Overlap how = overlap(target, value);
  if (how == Overlap::same) return;
  if (issuer.sink) {
    const Input input(&value);
    take_one(issuer, copy_call(name, target.dtype, false), &input, 1, target, true);
    return;
  }
  switch (how) {
    case Overlap::same:
    case Overlap::none: return submit_copy(issuer, name, value, target, 0);
    case Overlap::partial: break;
  }
  const Tensor copy = cast_copy(issuer, value, value.dtype, name);
  submit_copy(issuer, name, copy, target, 0);
}

namespace {

void take_fill(const Issuer& issuer, const char* name, const Input& value, const Tensor& output,
               bool is_target) {
  OpCall call(CallKind::fill, name);
  call.made = {{output.dtype, output.shape, output.strides}};
  call.device = output.device();
  take_one(issuer, std::move(call), &value, 1, output, is_target);
}

}  // namespace

void fill(const Issuer& issuer, const Tensor& target, const Input& value, const char* name) {
  require_writable(name, target);
  if (issuer.sink) {
    take_fill(issuer, name, value, target, true);
    return;
  }
  LoopPlan plan(name, ops::KernelId::fill, 1);
  plan.args.scalars[0] = value.scalar;
  plan.set_operand(0, &target);
  plan_loops(plan, target.shape);
  submit(issuer, plan);
}

bool full_here(vm::VirtualMachine& machine, Device device, DType dtype, const Dims& shape,
               const Scalar* value, Tensor* out) {
  if (!machine.may_act_at_once()) return false;
  const auto itemsize = static_cast<int64_t>(size_of(dtype));
  const int64_t count = count_elements(shape, itemsize, "tensor");
  TensorStorage* storage = TensorStorage::make_small(machine.state(device), count * itemsize);
  if (!storage) return false;
  out->storage = StorageRef::adopt(storage);
  if (value) repeat_element(*value, size_of(dtype), static_cast<size_t>(count), storage->data());
  out->dtype = dtype;
  out->offset = 0;
  out->shape = shape;
  set_contiguous_strides(shape, itemsize, &out->strides);
  return true;
}

bool full_now(const Issuer& issuer, Device device, DType dtype, const Dims& shape,
              const Scalar* value, Tensor* out) {
  constexpr int64_t kManyBytes = 1 << 20;  // some tens of microseconds
  vm::VirtualMachine& machine = issuer.machine;
  if (full_here(machine, device, dtype, shape, value, out)) return true;
  vm::DeviceState& state = machine.state(device);
  if (!may_make_now(machine, state)) return false;
  const auto itemsize = static_cast<int64_t>(size_of(dtype));
  const int64_t count = count_elements(shape, itemsize, "tensor");
  if (value && count * itemsize > kManyBytes) return false;
  if (!make_tensor_now(state, dtype, shape, issuer.site, out)) return false;
  if (value) repeat_element(*value, size_of(dtype), static_cast<size_t>(count), out->address());
  return true;
}

Tensor full(const Issuer& issuer, Device device, DType dtype, const Dims& shape,
            const Input& value) {
  return full(issuer, make_tensor(issuer.machine.state(device), dtype, shape, issuer.site), value);
}

Tensor full(const Issuer& issuer, Tensor&& made, const Input& value) {
  Tensor result = std::move(made);
  if (issuer.sink) {
    take_fill(issuer, "full", value, result, false);
    return result;
  }
  LoopPlan plan("full", ops::KernelId::fill, 1);
  plan.args.scalars[0] = value.scalar;
  plan.set_operand(0, &result);
  plan.new_bytes = result.storage->bytes();
  plan_loops(plan, result.shape);
  submit(issuer, plan);
  return result;
}

namespace {

/// Whether the copies into a new tensor, with so much work in all, are the calling thread's.
bool stays_here(vm::VirtualMachine& machine, const Tensor& result, double work,
                vm::PacedCall& paced) {
  if (!result.storage->on_host()) return false;
  if (machine.is_small(work)) return true;
  const int64_t bytes = result.size() * static_cast<int64_t>(size_of(result.dtype));
  const vm::Fusion fusion = machine.options().fusion.load(std::memory_order_relaxed);
  const bool is_joinable =
      fusion == vm::Fusion::where_it_pays ? is_large(bytes) : fusion_pays(machine.options(), bytes);
  const vm::Company company = is_joinable ? vm::Company::joinable : vm::Company::alone;
  return machine.stays_here(work, company, paced, true);
}

constexpr int64_t kFewBytes = 4096;  // of all parts: some microseconds at worst

/// concatenate() in this thread, where all parts may be read at once.
bool concatenate_here(const Issuer& issuer, const std::vector<Tensor>& parts, int axis,
                      const Dims& shape, Tensor* out) {
  int64_t bytes = 0;
  for (const Tensor& part : parts) {
    if (part.dtype != parts[0].dtype || !readable_here(issuer.machine, part, kFewBytes - bytes)) {
      return false;
    }
    bytes += part.size() * static_cast<int64_t>(size_of(part.dtype));
  }
  if (bytes == 0 ||
      !full_here(issuer.machine, parts[0].device(), parts[0].dtype, shape, nullptr, out)) {
    return false;
  }
  int64_t rows = 1;
  for (int d = 0; d < axis; ++d) rows *= shape[d];
  char* to = out->address();
  for (const Tensor& part : parts) {
    const int64_t piece = part.size() * static_cast<int64_t>(size_of(part.dtype)) / rows;
    if (piece == 0) continue;
    const char* from = part.address();
    for (int64_t r = 0; r < rows; ++r) {
      std::memcpy(to + r * (bytes / rows), from + r * piece, static_cast<size_t>(piece));
    }
    to += piece;
  }
  return true;
}

}  // namespace

Tensor concatenate(const Issuer& issuer, const std::vector<Tensor>& parts, int axis) {
  Dims shape = parts[0].shape;
  for (size_t i = 1; i < parts.size(); ++i) {
    const Tensor& part = parts[i];
    require_same_device("concat", parts[0].device(), part.device());
    bool fits = part.ndim() == shape.size();
    for (int d = 0; fits && d < shape.size(); ++d) fits = d == axis || part.shape[d] == shape[d];
    if (!fits) {
      fail(ErrorKind::value, "[concat] shapes ", shape_str(parts[0].shape), " and ",
           shape_str(part.shape), " differ outside axis ", axis);
    }
    shape[axis] += part.shape[axis];
  }
  Tensor joined;
  if (!issuer.sink && !issuer.plans && concatenate_here(issuer, parts, axis, shape, &joined)) {
    return joined;
  }
  Tensor result = make_joined(parts, shape, issuer.site);
  if (issuer.sink) {
    OpCall call(CallKind::concat, "concat");
    call.attr = {axis};
    std::vector<Input> inputs;
    for (const Tensor& part : parts) inputs.push_back(&part);
    return take_one(issuer, std::move(call), inputs.data(), static_cast<int>(inputs.size()),
                    result);
  }
  Tensor slice = result;
  double work = 0;
  for (const Tensor& part : parts) {
    slice.shape[axis] = part.shape[axis];
    work += copy_cost(part, slice) * static_cast<double>(part.size());
  }
  vm::PacedCall paced;
  const bool stays = stays_here(issuer.machine, result, work, paced);
  size_t new_bytes = result.storage->bytes();
  for (const Tensor& part : parts) {
    slice.shape[axis] = part.shape[axis];
    submit_copy(issuer, "concat", part, slice, new_bytes, stays);
    slice.offset += part.shape[axis] * slice.strides[axis];
    new_bytes = 0;
  }
  return result;
}

}  // namespace ofl
