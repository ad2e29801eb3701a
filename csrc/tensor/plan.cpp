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

namespace {

/// Whether an array is long lines of neighbours, or of one element repeated. `shape`: of the
/// target, to which the array broadcasts.
bool has_long_lines(const Tensor& x, const Dims& shape) {
  constexpr int64_t kLongLine = 256;  // bytes
  if (x.contiguous() && x.shape == shape) return true;
  if (x.ndim() == 0 || shape.empty()) return true;
  const auto item = static_cast<int64_t>(size_of(x.dtype));
  const int64_t stride = x.shape.back() == shape.back() ? x.strides.back() : 0;
  return (stride == item || stride == 0) && shape.back() * item >= kLongLine;
}

}  // namespace

// The unit is memory speed, which small copies exceed.
double copy_cost(const Tensor& source, const Tensor& target) {
  const bool half = source.dtype == DType::f16 || target.dtype == DType::f16;
  if (half && source.dtype != target.dtype) return 6;
  const bool goes_by_lines =
      has_long_lines(source, target.shape) && has_long_lines(target, target.shape);
  if (!goes_by_lines) return 1.5;
  const size_t bytes = std::max(size_of(source.dtype), size_of(target.dtype));
  return std::min(0.5, 0.125 * static_cast<double>(bytes));
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
