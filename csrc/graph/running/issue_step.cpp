#include "graph/running/issue_step.h"

#include "graph/running/step_args.h"

namespace ofl::graph {

namespace {

void issue_loops(const Issuer& issuer, const Step& step, const Tensor* operands,
                 const RunNumbers& numbers) {
  LoopPlan plan = *step.loops;
  fill_in(step, numbers, &plan.args);
  for (size_t k = 0; k < step.operands.size(); ++k) {
    plan.operands[k] = step.operands[k].base < 0 ? nullptr : &operands[k];
  }
  submit(issuer, plan);
}

void issue_arrays(const Issuer& issuer, const Step& step, const Tensor* operands,
                  const RunNumbers& numbers) {
  ArrayPlan plan = *step.arrays;
  fill_in(step, numbers, &plan);
  const int inputs = plan.inputs.size();
  for (int k = 0; k < inputs; ++k) plan.inputs[k] = &operands[k];
  for (int k = 0; k < plan.outputs.size(); ++k) plan.outputs[k] = &operands[inputs + k];
  submit(issuer, plan);
}

void issue_host(const Issuer& issuer, const Step& step, const Tensor* operands, Turn* turn) {
  std::vector<Tensor> reads, writes;
  for (size_t k = 0; k < step.operands.size(); ++k) {
    (step.writes[k] ? writes : reads).push_back(operands[k]);
  }
  *turn = {turn->own, std::make_shared<vm::Dependence>()};
  step.function->issue(issuer, step.name, reads, writes, *turn);
}

}  // namespace

void issue_step(const Issuer& issuer, const Step& step, const Tensor* operands,
                const RunNumbers& numbers, Turn* turn) {
  switch (step.kind) {
    case Step::Kind::loops: return issue_loops(issuer, step, operands, numbers);
    case Step::Kind::arrays: return issue_arrays(issuer, step, operands, numbers);
    case Step::Kind::transfer: return transfer_to(issuer, operands[0], operands[1]);
    case Step::Kind::allocate: return allocate(issuer, operands[0]);
    case Step::Kind::host: return issue_host(issuer, step, operands, turn);
  }
}

}  // namespace ofl::graph
