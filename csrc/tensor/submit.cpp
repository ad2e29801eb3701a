#include "tensor/submit.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "ops/cuda/foresight.h"
#include "ops/loop_cost.h"
#include "ops/pieces.h"
#include "tensor/finite.h"
#include "tensor/fusion/begin.h"
#include "tensor/fusion/worth.h"
#include "tensor/op_call.h"

namespace ofl {

namespace {

thread_local int8_t thread_lane = 0;
/// Some thread has chosen another lane than 0. In a shared library, to look at a variable of the
/// thread is a call.
std::atomic<bool> has_lanes{false};

template <typename Args>
constexpr vm::InstructionType kKernelType = failing_instruction_type<KernelBody<Args>>("op");

// --- what both kinds of plans have, under one name

/// The arguments, without addresses.
ops::LoopArgs& args_of(LoopPlan& plan) { return plan.args; }

/// They are the thread's, and keep their memory from one call to the next: a kernel that runs here
/// issues none.
ops::ArrayArgs& args_of(const ArrayPlan& plan) {
  static thread_local ops::ArrayArgs args;
  args.kernel = plan.kernel;
  args.name = plan.name;
  args.inputs = plan.inputs.size();
  args.attr.assign(plan.attr.begin(), plan.attr.end());
  args.loop = plan.loop;
  args.operands.clear();
  for (int i = 0; i < plan.inputs.size() + plan.outputs.size(); ++i) {
    const Tensor& x = *plan.operand(i);
    args.operands.push_back({nullptr, x.dtype, x.shape, x.strides});
  }
  args.work = work_of(plan);
  return args;
}

double work_of(const LoopPlan& plan, const ops::LoopArgs& args) {
  return args.elements() * plan.cost;
}
double work_of(const ArrayPlan&, const ops::ArrayArgs& args) { return args.work; }

/// Says who helps a kernel that runs in this thread. Most are too short to wake a helper for, but
/// one may be awake; awaited arrays may take several times as long.
template <typename Args>
void set_helpers(Args& args, double work, const Tensor& output) {
  args.helpers = work >= ops::kShareWork ? output.storage->state().device.helpers() : nullptr;
}

/// Bytes of memory that the call will allocate.
size_t new_bytes(const LoopPlan& plan) { return plan.new_bytes; }
size_t new_bytes(const ArrayPlan& plan) {
  size_t bytes = 0;
  if (ops::info(plan.kernel).placing == ops::Placing::in_place) return bytes;
  for (const Tensor* x : plan.outputs) bytes += x->storage->bytes();
  return bytes;
}

vm::Company company_of(const Issuer& issuer, const LoopPlan& plan) {
  const bool is_joinable =
      ops::is_elementwise(plan.args.kernel) && fusion_pays(issuer.machine.options(), plan.args);
  return is_joinable ? vm::Company::joinable : vm::Company::divisible;
}
vm::Company company_of(const Issuer&, const ArrayPlan& plan) {
  const ops::ArrayForm& form = ops::info(plan.kernel).arrays;
  if (form.is_awaited) return vm::Company::awaited;
  return form.division == ops::Division::none ? vm::Company::alone : vm::Company::divisible;
}

/// In the cache, a loop that is bound by memory elsewhere takes about a quarter of the time.
vm::Work work_here(const LoopPlan& plan, double cost) {
  constexpr double kInCache = 0.25;
  const ops::Resolution* const loop = plan.args.resolution;
  const bool is_bound =
      loop ? ops::is_memory_bound(*loop, plan.args.op->nin) : ops::is_elementwise(plan.args.kernel);
  return {cost, is_bound && !is_large(plan.args) ? kInCache * cost : cost};
}
vm::Work work_here(const ArrayPlan&, double cost) { return cost; }

/// Groups tell memories by their storages.
bool may_join_others(const LoopPlan& plan) {
  for (int i = 0; i < plan.args.size(); ++i) {
    if (plan.operand(i) && !plan.operand(i)->storage->is_alone()) return false;
  }
  return true;
}
bool may_join_others(const ArrayPlan&) { return false; }

// --- what is done with a plan of either kind

/// Runs the kernel in this thread when nothing stands before it; false when something does.
template <typename Plan, typename Args>
bool run_inline(const Issuer& issuer, const Plan& plan, Args& args, const vm::Instruction& header,
                const SmallVector<vm::Operand, 8>& operands, vm::Observer* observer) {
  const auto run = [&] {
    for (int i = 0; i < args.size(); ++i) {
      const Tensor* const tensor = plan.operand(i);
      if (args.is_written(i)) tensor->storage->materialize_on_host();
      args.address(i) = tensor ? tensor->address() : nullptr;
    }
    set_helpers(args, header.cost, *plan.operand(args.size() - 1));
    ops::run(args);
  };
  const auto describe = [&](vm::Description* out) { describe_result(args, out); };
  return run_here(issuer, header, operands.data(), operands.size(), run, describe, observer);
}

template <typename Plan, typename Args>
KernelBody<Args> body_of(const Plan& plan, const Args& args) {
  KernelBody<Args> body;
  body.call.args = args;
  for (int i = 0; i < args.size(); ++i) {
    const Tensor* const tensor = plan.operand(i);
    body.held.add(tensor ? tensor->storage.get() : nullptr);
    body.call.bases.push_back(static_cast<int16_t>(tensor ? i : -1));
    // No elements have no place: what a device is given must not leave the storage.
    const bool is_somewhere = tensor && tensor->size() > 0;
    body.call.args.address(i) = reinterpret_cast<char*>(is_somewhere ? tensor->offset : 0);
  }
  return body;
}

template <typename Plan>
void submit_plan(const Issuer& issuer, Plan& plan, bool stays_here, vm::Observer* observer) {
  auto& args = args_of(plan);
  SmallVector<vm::Operand, 8> operands;
  for (int i = 0; i < args.size(); ++i) {
    const Tensor* const tensor = plan.operand(i);
    const vm::Access access = args.is_written(i) ? vm::Access::write : vm::Access::read;
    if (tensor) operands.push_back({&tensor->storage->dependence(), access});
  }
  TensorStorage& output = *plan.operand(args.size() - 1)->storage;
  vm::VirtualMachine& machine = issuer.machine;
  vm::Instruction header;
  header.type = &kKernelType<std::decay_t<decltype(args)>>;
  header.name = args.name;
  header.stream = &compute_stream(machine, output.state());
  header.site = issuer.site;
  header.cost = work_of(plan, args);
  const bool on_host = output.on_host();
  vm::PacedCall paced;
  if (on_host &&
      (stays_here || machine.is_tiny(header.cost) ||
       machine.stays_here(work_here(plan, header.cost), company_of(issuer, plan), paced)) &&
      run_inline(issuer, plan, args, header, operands, observer)) {
    return;
  }
  if (on_host) machine.note_handed_over();
  auto body = body_of(plan, args);
  if (!on_host) {  // host memory is taken when the instruction runs: nothing of it is in flight
    ep::Device& device = output.state().device;
    header.bytes = new_bytes(plan);
    body.call.by_device = ops::uses_own_kernels(device);
    if (body.call.by_device) ops::cuda::foresee(device, body.call);
  }
  const bool has_groups = on_host || body.call.by_device;
  if (has_groups && may_join_others(plan)) header.type = &kLoopType;
  machine.issue(header, operands.data(), operands.size(), std::move(body));
}

template <typename Plan>
void submit_observed(const Issuer& issuer, Plan& plan, bool stays_here, vm::Observer* observer) {
  if (!observer->checks_results()) return submit_plan(issuer, plan, stays_here, observer);
  const ResultCheck check(issuer, plan);
  if (check.before()) submit_plan(issuer, *check.before(), stays_here, observer);
  submit_plan(issuer, plan, stays_here, observer);
  if (check.after()) submit_plan(issuer, *check.after(), stays_here, observer);
}

/// One test tells whether somebody observes.
template <typename Plan>
void submit_either(const Issuer& issuer, Plan& plan, bool stays_here) {
  vm::Observer* const observer = issuer.machine.observer();
  if (observer) return submit_observed(issuer, plan, stays_here, observer);
  submit_plan(issuer, plan, stays_here, nullptr);
}

}  // namespace

const vm::InstructionType kLoopType = [] {
  vm::InstructionType type = kKernelType<ops::LoopArgs>;
  type.group = begin_group;
  return type;
}();

int exchange_lane(int lane) {
  if (lane > 0) has_lanes.store(true, std::memory_order_relaxed);
  return std::exchange(thread_lane, static_cast<int8_t>(lane));
}

int current_lane() { return thread_lane; }

vm::Stream& compute_stream(vm::VirtualMachine& machine, vm::DeviceState& state) {
  const int lane = has_lanes.load(std::memory_order_relaxed) ? thread_lane : 0;
  return compute_stream(machine, state, std::max(lane, 0));
}

vm::Stream& compute_stream(vm::VirtualMachine& machine, vm::DeviceState& state, int lane) {
  if (lane == kCallersLane) return compute_stream(machine, state);
  vm::Stream* stream = state.streams[lane].load(std::memory_order_acquire);
  return stream ? *stream : machine.stream(state.device.id(), vm::compute_lane(lane));
}

void poison_outputs(const Issuer& issuer, const vm::Instruction& header,
                    const vm::Operand* operands, int count, const Error& error, vm::Seq seq) {
  const auto failure = std::make_shared<const vm::Failure>(
      vm::Failure{error.kind(), error.what(), header.name, issuer.site, seq,
                  header.stream->device().id(), error.payload()});
  for (int i = 0; i < count; ++i) {
    if (operands[i].access == vm::Access::write) operands[i].object->poison(failure, seq);
  }
  issuer.machine.note_failure(failure);
}

void submit(const Issuer& issuer, LoopPlan& plan, bool stays_here) {
  if (issuer.plans) return issuer.plans->take(issuer.site, plan);
  submit_either(issuer, plan, stays_here);
}

void submit(const Issuer& issuer, const ArrayPlan& plan) {
  const Device device = plan.outputs[0]->device();
  for (const Tensor* x : plan.inputs) require_same_device(plan.name, device, x->device());
  for (const Tensor* x : plan.outputs) require_same_device(plan.name, device, x->device());
  if (issuer.sink) return take_plan(issuer, plan);
  if (issuer.plans) return issuer.plans->take(issuer.site, plan);
  submit_either(issuer, plan, false);
}

void take_plan(const Issuer& issuer, const ArrayPlan& plan) {
  OpCall call(CallKind::array, plan.name);
  call.kernel = plan.kernel;
  call.loop = plan.loop;
  call.elements = plan.elements;
  call.attr = plan.attr;
  call.device = plan.outputs[0]->device();
  std::vector<Input> inputs;
  for (const Tensor* x : plan.inputs) inputs.push_back(x);
  call.targets = plan.targets;
  if (plan.object) call.object = *plan.object;
  for (int k = 0; k < plan.outputs.size(); ++k) {
    const Tensor& x = *plan.outputs[k];
    if (!(plan.targets >> k & 1)) call.made.push_back({x.dtype, x.shape, x.strides});
  }
  issuer.sink->take(issuer.site, std::move(call), inputs.data(), static_cast<int>(inputs.size()),
                    plan.outputs.data(), plan.outputs.size());
}

void require_writable(const char* op, const Tensor& target) {
  if (!target.storage->writable()) {
    fail(ErrorKind::value, "[", op, "] cannot write into a read-only tensor of shape ",
         shape_str(target.shape), "; copy it first");
  }
  if (!target.contiguous() &&
      may_self_overlap(target.shape, target.strides, static_cast<int64_t>(size_of(target.dtype)))) {
    fail(ErrorKind::value, "[", op, "] cannot write into a broadcast view of shape ",
         shape_str(target.shape), "; copy it first");
  }
}

}  // namespace ofl
