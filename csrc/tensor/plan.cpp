#include "tensor/plan.h"

namespace ofl {

LoopPlan::LoopPlan(const char* name, ops::KernelId kernel, int operands)
    : cost(ops::info(kernel).cost) {
  args.kernel = kernel;
  args.name = name;
  args.iteration.operands = operands;
}

void LoopPlan::set_operand(int i, const Tensor* tensor) {
  operands[i] = tensor;
  args.dtype[i] = tensor->dtype;
}

void LoopPlan::set_input(int i, const Input& input, DType dtype) {
  if (input.tensor) return set_operand(i, input.tensor);
  args.scalars[i] = input.scalar;
  args.dtype[i] = dtype;
}

void LoopPlan::add_row(int64_t dim, const int64_t (&strides)[ops::kMaxOperands]) {
  ops::Iteration::Row& row = args.iteration.rows[args.iteration.ndim++];
  row.dim = dim;
  for (int k = 0; k < ops::kMaxOperands; ++k) row.strides[k] = strides[k];
}

}  // namespace ofl
