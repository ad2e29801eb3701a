// The arguments of a step's kernel as one run has them: the one place where a run fills in numbers.
#pragma once

#include "graph/planning/lowered.h"

namespace ofl::graph {

/// Sets the scalars that each run is given.
inline void fill_in(const Step& step, const RunNumbers& numbers, ops::LoopArgs* args) {
  for (const GivenScalar& given : step.given) {
    args->scalars[given.place] = numbers.scalars[given.slot];
  }
}
/// The same of the words of a call of arrays, or of its plan.
template <typename Call>
void fill_in(const Step& step, const RunNumbers& numbers, Call* call) {
  for (const RunWord& x : step.words) call->attr[x.attr] = numbers.words[x.word];
}

/// Without addresses.
ops::LoopArgs loop_args(const Step& step, const RunNumbers& numbers);
ops::ArrayArgs array_args(const Step& step, const RunNumbers& numbers);

/// The planned call with these operands, which outlive it; that of a scalar is not looked at.
LoopPlan loop_plan(const Step& step, const RunNumbers& numbers, const Tensor* operands);
ArrayPlan array_plan(const Step& step, const RunNumbers& numbers, const Tensor* operands);

/// Bytes from the start of an operand's base. No elements have no place: what a device is given
/// must not leave its memory.
inline int64_t offset_of(const Placed& operand) {
  return operand.layout.size() > 0 ? operand.layout.offset : 0;
}

/// address(k) is where the base of operand k begins.
template <typename Args, typename Address>
void set_addresses(const Step& step, const Address& address, Args* args) {
  for (int k = 0; k < args->size(); ++k) {
    const Placed& operand = step.operands[k];
    args->address(k) = operand.base < 0 ? nullptr : address(k) + offset_of(operand);
  }
}

/// The kernel on a device; the number of an operand's base is that of the operand.
template <typename Args>
ops::KernelCall<std::decay_t<Args>> kernel_call(const Step& step, Args&& args,
                                                const ep::Device& device) {
  ops::KernelCall<std::decay_t<Args>> call;
  call.args = std::forward<Args>(args);
  call.by_device = ops::uses_own_kernels(device);
  for (int k = 0; k < call.args.size(); ++k) {
    const Placed& operand = step.operands[k];
    call.bases.push_back(static_cast<int16_t>(operand.base < 0 ? -1 : k));
    call.args.address(k) = reinterpret_cast<char*>(operand.base < 0 ? 0 : offset_of(operand));
  }
  return call;
}

/// Puts the kernel on the queue of a device, see ops::launch().
template <typename Args, typename Address>
std::shared_ptr<ops::InFlight> launch_step(const Step& step, const Address& address, Args&& args,
                                           ep::Stream& queue, std::optional<Error>* async_error) {
  const auto call = kernel_call(step, std::forward<Args>(args), queue.device());
  SmallVector<char*, 8> bases;
  for (int k = 0; k < call.args.size(); ++k) {
    bases.push_back(call.bases[k] < 0 ? nullptr : address(k));
  }
  return ops::launch(queue, call, bases.data(), async_error);
}

}  // namespace ofl::graph
