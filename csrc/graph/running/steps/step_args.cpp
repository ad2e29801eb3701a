#include "graph/running/steps/step_args.h"

namespace ofl::graph {

ops::LoopArgs loop_args(const Step& step, const RunNumbers& numbers) {
  ops::LoopArgs args = step.loops->args;
  fill_in(step, numbers, &args);
  return args;
}

ops::ArrayArgs array_args(const Step& step, const RunNumbers& numbers) {
  const ArrayPlan& plan = *step.arrays;
  ops::ArrayArgs args;
  args.kernel = plan.kernel;
  args.name = plan.name;
  args.inputs = plan.inputs.size();
  args.attr.assign(plan.attr.begin(), plan.attr.end());
  args.loop = plan.loop;
  args.work = step.cost;
  for (const Placed& operand : step.operands) {
    const Tensor& x = operand.layout;
    args.operands.push_back({nullptr, x.dtype, x.shape, x.strides});
  }
  if (numbers.words) fill_in(step, numbers, &args);
  return args;
}

LoopPlan loop_plan(const Step& step, const RunNumbers& numbers, const Tensor* operands) {
  LoopPlan plan = *step.loops;
  fill_in(step, numbers, &plan.args);
  for (size_t k = 0; k < step.operands.size(); ++k) {
    plan.operands[k] = step.operands[k].base < 0 ? nullptr : &operands[k];
  }
  return plan;
}

ArrayPlan array_plan(const Step& step, const RunNumbers& numbers, const Tensor* operands) {
  ArrayPlan plan = *step.arrays;
  fill_in(step, numbers, &plan);
  const int inputs = plan.inputs.size();
  for (int k = 0; k < inputs; ++k) plan.inputs[k] = &operands[k];
  for (int k = 0; k < plan.outputs.size(); ++k) plan.outputs[k] = &operands[inputs + k];
  return plan;
}

}  // namespace ofl::graph
