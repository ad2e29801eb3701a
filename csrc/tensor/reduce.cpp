// Reductions: calls whose output does not have the shape of the loops.
#include <cstring>

#include "tensor/layout.h"
#include "tensor/op_call.h"
#include "tensor/submit.h"

namespace ofl {

namespace {

/// Of an element of bool, in float32 additions, where one result is chosen of all: as a rule an
/// early one says it.
constexpr double kChosenTruth = 0.02;

/// Loops over all axes of `x`; the output steps along the kept ones only.
void plan_reduction(LoopPlan& plan, const Tensor& x, const Tensor& result, AxisSet reduced) {
  const bool keepdims = result.ndim() == x.ndim();
  int place = 0;
  for (int d = 0; d < x.ndim(); ++d) {
    const int64_t step = reduced.has(d) ? 0 : result.strides[place];
    if (keepdims || !reduced.has(d)) ++place;
    plan.add_row(x.shape[d], {x.strides[d], step, 0, 0});
  }
}

Tensor submit_reduction(const Issuer& issuer, LoopPlan& plan, const Tensor& x, Tensor&& result,
                        AxisSet reduced) {
  if (result.size() == 0) return empty(issuer, result.device(), result.dtype, result.shape);
  plan.set_operand(0, &x);
  plan.set_operand(1, &result);
  plan.new_bytes = result.storage->bytes();
  plan_reduction(plan, x, result, reduced);
  submit(issuer, plan);
  return std::move(result);
}

}  // namespace

Tensor reduce(const Issuer& issuer, const ops::OpDef& op, const ops::Resolution& resolution,
              const Tensor& x, AxisSet reduced, const Scalar* initial, bool keepdims) {
  const char* name = op.name.c_str();
  int64_t extent = 1;
  for (int d = 0; d < x.ndim(); ++d) extent *= reduced.has(d) ? x.shape[d] : 1;
  if (!initial && extent == 0) {
    fail(ErrorKind::value, "[", name, "] cannot reduce no elements without an identity, shape ",
         shape_str(x.shape));
  }
  Tensor result = make_reduced(x, resolution.result, reduced, keepdims, issuer.site);
  if (issuer.sink) {
    OpCall call(CallKind::reduce, name);
    call.op = &op;
    call.resolution = &resolution;
    call.attr = {reduced.bits(), int64_t{keepdims}};
    const Input inputs[] = {&x, initial ? *initial : Scalar{}};
    return take_one(issuer, std::move(call), inputs, initial ? 2 : 1, result);
  }
  LoopPlan plan(name, ops::KernelId::reduce, 2);
  const bool chooses = op.selects && x.dtype == DType::b1 && result.size() == 1;
  plan.cost = chooses ? kChosenTruth : resolution.cost;
  plan.args.op = &op;
  plan.args.resolution = &resolution;
  plan.args.attr[0] = initial != nullptr;
  if (initial) {
    const auto* from = reinterpret_cast<const char*>(initial->bytes);
    auto* to = reinterpret_cast<char*>(plan.args.scalars[0].bytes);
    ops::cast_function(resolution.result, resolution.out)(from, 0, to, 0, 1);
  }
  return submit_reduction(issuer, plan, x, std::move(result), reduced);
}

Tensor arg_reduce(const Issuer& issuer, const char* name, const Tensor& x, int axis, bool keepdims,
                  bool minimum) {
  AxisSet reduced = axis < 0 ? AxisSet::all(x.ndim()) : AxisSet();
  if (axis >= 0) reduced.add(axis);
  const int64_t extent = axis >= 0 ? x.shape[axis] : x.size();
  if (extent == 0) {
    fail(ErrorKind::value, "[", name, "] of no elements, shape ", shape_str(x.shape));
  }
  Tensor result = make_tensor(x.storage->state(), DType::i64,
                              reduced_shape(x.shape, reduced, keepdims), issuer.site);
  if (issuer.sink) {
    OpCall call(CallKind::arg_reduce, name);
    call.attr = {axis, int64_t{keepdims}, int64_t{minimum}};
    const Input input(&x);
    return take_one(issuer, std::move(call), &input, 1, result);
  }
  LoopPlan plan(name, ops::KernelId::arg_reduce, 2);
  plan.args.attr[0] = minimum;
  if (x.dtype == DType::b1 && result.size() == 1) plan.cost = kChosenTruth;
  return submit_reduction(issuer, plan, x, std::move(result), reduced);
}

}  // namespace ofl
