#include "tensor/replay.h"

#include "tensor/submit.h"

namespace ofl {

namespace {

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

  Tensor fill() const {
    if (!target()) {
      return full(issuer, call.device, call.made[0].dtype, call.made[0].shape, inputs[0].scalar);
    }
    ofl::fill(issuer, *target(), inputs[0].scalar, call.name);
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
    std::vector<bool> reduced(x.ndim());
    for (int d = 0; d < x.ndim(); ++d) reduced[d] = call.attr[0] >> d & 1;
    const Scalar* const initial = count > 1 ? &inputs[1].scalar : nullptr;
    return ofl::reduce(issuer, *call.op, *call.resolution, x, reduced, initial, call.attr[1]);
  }

  Tensor concat(int count) const {
    std::vector<Tensor> parts;
    for (int k = 0; k < count; ++k) parts.push_back(tensor(k));
    return concatenate(issuer, parts, static_cast<int>(call.attr[0]));
  }

  Tensor view() const {
    Tensor x = tensor(0);
    const int ndim = (call.attr.size() - 2) / 2;
    x.dtype = static_cast<DType>(call.attr[0]);
    x.offset += call.attr[1];
    x.shape.resize(ndim);
    x.strides.resize(ndim);
    for (int d = 0; d < ndim; ++d) {
      x.shape[d] = call.attr[2 + d];
      x.strides[d] = call.attr[2 + ndim + d];
    }
    return x;
  }

  std::vector<Tensor> array(int count) const {
    vm::DeviceState& state = issuer.machine.state(count ? tensor(0).device() : call.device);
    std::vector<Tensor> results;
    const size_t outputs = target_count + call.made.size();
    int written = 0, made = 0;
    while (results.size() < outputs) {
      if (call.targets >> results.size() & 1) {
        results.push_back(*targets[written++]);
      } else {
        const NewTensor& type = call.made[made++];
        results.push_back(make_tensor(state, type.dtype, type.shape, issuer.site));
        results.back().strides = type.strides;  // each byte is in it once, in any order
      }
    }
    ArrayPlan plan{call.name, call.kernel, {}, {}, call.attr, call.loop, call.elements};
    for (int k = 0; k < count; ++k) plan.inputs.push_back(&tensor(k));
    for (const Tensor& x : results) plan.outputs.push_back(&x);
    plan.targets = call.targets;
    submit(issuer, plan);
    return results;
  }
};

}  // namespace

std::vector<Tensor> replay(const Issuer& issuer, const OpCall& call, const Input* inputs, int count,
                           const Tensor* const* targets, int target_count) {
  if (__builtin_popcount(call.targets) != target_count) {
    fail(ErrorKind::value, "[", call.name, "] expected ", __builtin_popcount(call.targets),
         " tensors to write to, got ", target_count);
  }
  const Replay again{issuer, call, inputs, targets, target_count};
  switch (call.kind) {
    case CallKind::elementwise:
      return {elementwise(issuer, *call.op, *call.resolution, inputs, again.target())};
    case CallKind::where: return {where(issuer, inputs, call.made[0].dtype, call.device)};
    case CallKind::copy: return {again.copy()};
    case CallKind::fill: return {again.fill()};
    case CallKind::empty:
      return {empty(issuer, call.device, call.made[0].dtype, call.made[0].shape)};
    case CallKind::reduce: return {again.reduce(count)};
    case CallKind::arg_reduce:
      return {arg_reduce(issuer, call.name, again.tensor(0), static_cast<int>(call.attr[0]),
                         call.attr[1], call.attr[2])};
    case CallKind::matmul:
      return {matmul(issuer, *call.op, *call.resolution, again.tensor(0), again.tensor(1))};
    case CallKind::concat: return {again.concat(count)};
    case CallKind::transfer: return {to_device(issuer, again.tensor(0), call.device, true)};
    case CallKind::array: return again.array(count);
    case CallKind::view: return {again.view()};
  }
  fail(ErrorKind::runtime, "[replay] unknown kind of call");
}

}  // namespace ofl
