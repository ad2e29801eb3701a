#include "graph/running/steps/issue_step.h"

#include "graph/running/steps/step_args.h"

namespace ofl::graph {

namespace {

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
    case Step::Kind::loops: {
      LoopPlan plan = loop_plan(step, numbers, operands);
      return submit(issuer, plan);
    }
    case Step::Kind::arrays: return submit(issuer, array_plan(step, numbers, operands));
    case Step::Kind::transfer: return transfer_to(issuer, operands[0], operands[1]);
    case Step::Kind::allocate: return allocate(issuer, operands[0]);
    case Step::Kind::host: return issue_host(issuer, step, operands, turn);
  }
}

}  // namespace ofl::graph
