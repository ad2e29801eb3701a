#include "graph/running/issue_step.h"

#include "graph/running/step_args.h"

namespace ofl::graph {

namespace {

void issue_loops(const Issuer& issuer, const Step& step, const Tensor* operands,
                 const Scalar* scalars) {
  LoopPlan plan = *step.loops;
  fill_in(step, scalars, &plan.args);
  for (size_t k = 0; k < step.operands.size(); ++k) {
    plan.operands[k] = step.operands[k].base < 0 ? nullptr : &operands[k];
  }
  submit(issuer, plan);
}

void issue_arrays(const Issuer& issuer, const Step& step, const Tensor* operands) {
  ArrayPlan plan = *step.arrays;
  const int inputs = plan.inputs.size();
  for (int k = 0; k < inputs; ++k) plan.inputs[k] = &operands[k];
  for (int k = 0; k < plan.outputs.size(); ++k) plan.outputs[k] = &operands[inputs + k];
  submit(issuer, plan);
}

}  // namespace

void issue_step(const Issuer& issuer, const Step& step, const Tensor* operands,
                const Scalar* scalars) {
  switch (step.kind) {
    case Step::Kind::loops: return issue_loops(issuer, step, operands, scalars);
    case Step::Kind::arrays: return issue_arrays(issuer, step, operands);
    case Step::Kind::transfer: return transfer_to(issuer, operands[0], operands[1]);
    case Step::Kind::allocate: return allocate(issuer, operands[0]);
  }
}

}  // namespace ofl::graph
