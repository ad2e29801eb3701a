#include "graph/running/step_args.h"

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

}  // namespace ofl::graph
