// From a planned kernel call to an instruction; shared by the files of this folder.
#pragma once

#include "tensor/body.h"
#include "tensor/dispatch.h"

namespace ofl {

/// A kernel call being planned: args without `data`, and the operands (null: a scalar in args).
struct KernelPlan {
  /// `operands` counts the inputs and the output.
  KernelPlan(const char* name, ops::KernelFn kernel, int operands, double cost);

  ops::KernelArgs& args() { return call.args; }
  void set_operand(int i, const Tensor* tensor);

  ops::KernelCall call;
  const Tensor* operands[ops::kMaxOperands] = {};
  const char* name;
  double cost;           // of one iteration, in float32 additions
  size_t new_bytes = 0;  // of memory that it will allocate

  /// Appends a loop over all operands; strides in bytes.
  void add_row(int64_t dim, const int64_t (&strides)[ops::kMaxOperands]);
};

/// Issues it on the compute stream of the output's device, or runs it here.
void submit(const Issuer& issuer, KernelPlan& plan);

/// Throws unless every element of `target` is a place of its own.
void require_writable(const char* op, const Tensor& target);

vm::Stream& compute_stream(vm::VirtualMachine& machine, vm::DeviceState& state);

}  // namespace ofl
