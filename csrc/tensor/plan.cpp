#include "tensor/plan.h"

#include <algorithm>

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

double work_of(const ArrayPlan& plan) {
  const ops::Kernel& row = ops::info(plan.kernel);
  if (plan.elements >= 0) return plan.elements * row.cost;
  const int count = plan.inputs.size() + plan.outputs.size();
  if (row.arrays.count) {
    SmallVector<const Dims*, 4> shapes;
    for (int k = 0; k < count; ++k) shapes.push_back(&plan.operand(k)->shape);
    return row.arrays.count(shapes.data()) * row.cost;
  }
  int64_t elements = 0;
  for (int k = 0; k < count; ++k) elements = std::max(elements, plan.operand(k)->size());
  return static_cast<double>(elements) * row.cost;
}

}  // namespace ofl
