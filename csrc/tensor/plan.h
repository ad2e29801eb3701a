// Planned calls of kernels: operands that are checked, and arguments without addresses.
#pragma once

#include "ops/launch.h"
#include "tensor/op_call.h"

namespace ofl {

/// A call of a kernel of loops: the arguments without addresses, and the operands (null: a scalar
/// in args).
struct LoopPlan {
  /// `operands` counts the inputs and the output.
  LoopPlan(const char* name, ops::KernelId kernel, int operands);

  void set_operand(int i, const Tensor* tensor);
  /// A tensor, or a scalar of this dtype.
  void set_input(int i, const Input& input, DType dtype);
  /// Appends a loop over all operands; strides in bytes.
  void add_row(int64_t dim, const int64_t (&strides)[ops::kMaxOperands]);
  const Tensor* operand(int i) const { return operands[i]; }

  ops::LoopArgs args;
  const Tensor* operands[ops::kMaxOperands] = {};
  double cost;           // of one iteration, in float32 additions
  size_t new_bytes = 0;  // of memory that it will allocate
};

/// A call of a kernel of arrays.
struct ArrayPlan {
  const char* name;  // of the operation, in errors and traces; outlives the machine
  ops::KernelId kernel;
  SmallVector<const Tensor*, 4> inputs;   // all tensors outlive the call
  SmallVector<const Tensor*, 4> outputs;  // at least one; new, or with elements that are written
  SmallVector<int64_t, 8> attr;
  ops::Loop loop;
  double elements = -1;  // that the cost is of; negative: those of the largest operand
  uint32_t targets = 0;  // bit k: output k is no new tensor
  std::shared_ptr<const HostObject> const* object = nullptr;  // for who records the call

  const Tensor* operand(int i) const {
    return i < inputs.size() ? inputs[i] : outputs[i - inputs.size()];
  }
};

/// Of the copy of one element, in float32 additions.
double copy_cost(const Tensor& source, const Tensor& target);

/// In float32 additions.
double work_of(const ArrayPlan& plan);

/// Takes planned work instead of the machine.
class PlanSink {
 public:
  virtual ~PlanSink() = default;
  virtual void take(vm::SiteId site, const LoopPlan& plan) = 0;
  virtual void take(vm::SiteId site, const ArrayPlan& plan) = 0;
  /// A copy of a row-major tensor to a new one on another device.
  virtual void transfer(vm::SiteId site, const Tensor& source, const Tensor& result) = 0;
  /// A new tensor is to have memory, of any values.
  virtual void allocate(vm::SiteId site, const Tensor& result) = 0;
  /// A function of the host is to be called.
  virtual void call_host(vm::SiteId site, const OpCall& call, const std::vector<Tensor>& reads,
                         const std::vector<Tensor>& writes) = 0;
};

}  // namespace ofl
