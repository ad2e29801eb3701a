#include "graph/running/steps/step_check.h"

#include <algorithm>

#include "tensor/finite.h"

namespace ofl::graph {

namespace {

CheckedOperands checked_operands_of(const Step& step, const RunNumbers& numbers) {
  std::vector<Tensor> layouts;
  for (const Placed& operand : step.operands) layouts.push_back(operand.layout);
  if (step.loops) return checked_operands(loop_plan(step, numbers, layouts.data()));
  if (step.arrays) return checked_operands(array_plan(step, numbers, layouts.data()));
  return {};
}

}  // namespace

StepCheck::StepCheck(const Step& step, const RunNumbers& numbers) : name_(step.name) {
  const CheckedOperands checked = checked_operands_of(step, numbers);
  const auto seen = [&](int operand) {
    const Tensor& x = step.operands[operand].layout;
    return Seen{operand, offset_of(step.operands[operand]), {nullptr, x.dtype, x.shape, x.strides}};
  };
  for (const int k : checked.operands) operands_.push_back(seen(k));
  for (const int k : checked.results) results_.push_back(seen(k));
}

void StepCheck::before() {
  if (results_.empty()) return;
  had_any_ = std::any_of(operands_.begin(), operands_.end(), [](const Seen& seen) {
    return ops::count_nonfinite(seen.view).count() > 0;
  });
}

void StepCheck::after() const {
  if (had_any_) return;
  for (const Seen& seen : results_) ops::refuse_nonfinite(name_, seen.view);
}

}  // namespace ofl::graph
