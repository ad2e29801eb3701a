// From a planned kernel call to an instruction; shared by the files of this folder.
#pragma once

#include "ep/memory/caching_allocator.h"
#include "tensor/body.h"
#include "tensor/issue.h"

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
  double cost;              // of one iteration, in float32 additions
  size_t new_bytes = 0;     // of memory that it will allocate
  bool stays_here = false;  // part of an operation that is to run in the calling thread
  bool is_whole = false;    // does not run tile by tile with what comes before and after

  /// Appends a loop over all operands; strides in bytes.
  void add_row(int64_t dim, const int64_t (&strides)[ops::kMaxOperands]);
};

/// Issues it on the compute stream of the output's device, or runs it here.
void submit(const Issuer& issuer, KernelPlan& plan);

/// Throws unless every element of `target` is a place of its own.
void require_writable(const char* op, const Tensor& target);

vm::Stream& compute_stream(vm::VirtualMachine& machine, vm::DeviceState& state);

/// Small work of a host stream that runs in the calling thread.
struct InlineWork {
  const vm::InstructionType* type;
  const char* name;
  const vm::Operand* operands;
  int operand_count;
  TensorStorage* const* outputs;
  int output_count;
  vm::Stream* stream;
};

void poison_outputs(const Issuer& issuer, const InlineWork& work, const Error& error, vm::Seq seq);
void report_inline(const Issuer& issuer, const InlineWork& work, const vm::Description& description,
                   int64_t begin);

/// Calls `run()` in this thread, with the outputs materialized, when nothing stands before it;
/// false when something does. A failure poisons the outputs.
template <typename Run, typename Describe>
bool run_here(const Issuer& issuer, const InlineWork& work, const Run& run,
              const Describe& describe) {
  vm::VirtualMachine& machine = issuer.machine;
  const int64_t begin = machine.observer() ? now_ns() : 0;
  vm::InlineScope here(machine.window(), work.operands, work.operand_count);
  if (!here) return false;
  try {
    for (int i = 0; i < work.output_count; ++i) work.outputs[i]->materialize_on_host();
    run();
  } catch (const ep::CapacityError&) {
    here.decline();  // as an instruction it waits for what others give back
    return false;
  } catch (const Error& error) {
    poison_outputs(issuer, work, error, here.take_seq());
  }
  if (machine.observer()) {
    vm::Description description;
    describe(&description);
    report_inline(issuer, work, description, begin);
  }
  return true;
}

}  // namespace ofl
