#include "tensor/submit.h"

#include "ops/cuda/foresight.h"
#include "ops/cuda/launching.h"
#include "ops/cuda/programs.h"
#include "tensor/fusion/begin.h"

namespace ofl {

namespace {

constexpr vm::InstructionType kLoneKernelType = failing_instruction_type<KernelBody>("op");

int operands_of(const KernelPlan& plan, vm::Operand* out) {
  const int operands = plan.call.args.iteration.operands;
  int count = 0;
  for (int i = 0; i < operands; ++i) {
    if (!plan.operands[i]) continue;
    const bool output = i == operands - 1;
    out[count++] = {&plan.operands[i]->storage->dependence(),
                    output ? vm::Access::write : vm::Access::read};
  }
  return count;
}

void describe_rows(const ops::KernelArgs& args, vm::Description* out) {
  out->ndim = 0;
  for (int d = 0; d < args.iteration.ndim && d < vm::Description::kMaxDims; ++d) {
    out->dims[out->ndim++] = args.iteration.rows[d].dim;
  }
  out->dtype = name_of(args.dtype[args.iteration.operands - 1]);
}

/// It may run as one with others: these tell memories by their storages, and a device has kernels
/// for groups beside its own for each.
bool may_join_others(const KernelPlan& plan, const TensorStorage& output) {
  const int operands = plan.call.args.iteration.operands;
  for (int i = 0; i < operands; ++i) {
    if (plan.operands[i] && !plan.operands[i]->storage->is_alone()) return false;
  }
  return output.on_host() || plan.call.by_device;
}

bool stays_here(const Issuer& issuer, const KernelPlan& plan, double work, vm::PacedCall& call) {
  vm::VirtualMachine& machine = issuer.machine;
  if (plan.stays_here || machine.is_small(work)) return true;
  const bool is_alone = plan.is_whole || !fusion_pays(machine.options(), plan.call.args);
  return machine.stays_here(work, is_alone ? vm::Company::alone : vm::Company::joinable, call);
}

/// Runs the kernel in this thread when nothing stands before it; false when something does.
bool run_inline(const Issuer& issuer, KernelPlan& plan, const vm::Operand* operands, int count,
                vm::Stream& stream) {
  ops::KernelArgs& args = plan.call.args;
  const int last = args.iteration.operands - 1;
  TensorStorage* const output = plan.operands[last]->storage.get();
  const InlineWork work{&kKernelType, plan.name, operands, count, &output, 1, &stream};
  const auto run = [&] {
    for (int i = 0; i <= last; ++i) {
      args.data[i] = plan.operands[i] ? plan.operands[i]->address()
                                      : reinterpret_cast<char*>(&args.scalars[i]);
    }
    args.kernel(args);
  };
  return run_here(issuer, work, run, [&](vm::Description* out) { describe_rows(args, out); });
}

/// The kernels of a call that is the first of its kind are compiled from now on.
void foresee(ep::Device& device, const KernelPlan& plan) {
  using ops::cuda::kRehearsedAddress;
  if (device.runs_host_kernels() || !ops::cuda::is_first_of_its_kind(device, plan.call.args)) {
    return;
  }
  ops::KernelCall call = plan.call;
  for (int i = 0; i < call.args.iteration.operands; ++i) {
    const Tensor* const tensor = plan.operands[i];
    call.args.data[i] =
        tensor ? reinterpret_cast<char*>(kRehearsedAddress + tensor->offset) : nullptr;
  }
  ops::cuda::foresee(device, call.args);
}

}  // namespace

const vm::InstructionType kKernelType = [] {
  vm::InstructionType type = failing_instruction_type<KernelBody>("op");
  type.group = begin_group;
  return type;
}();

KernelPlan::KernelPlan(const char* name, ops::KernelFn kernel, int operands, double cost)
    : name(name), cost(cost) {
  call.args.kernel = kernel;
  call.args.iteration.operands = operands;
  call.by_device = ops::cuda::uses_kernels();
}

void KernelPlan::set_operand(int i, const Tensor* tensor) {
  operands[i] = tensor;
  call.args.dtype[i] = tensor->dtype;
}

void KernelPlan::add_row(int64_t dim, const int64_t (&strides)[ops::kMaxOperands]) {
  ops::Iteration::Row& row = call.args.iteration.rows[call.args.iteration.ndim++];
  row.dim = dim;
  for (int k = 0; k < ops::kMaxOperands; ++k) row.strides[k] = strides[k];
}

vm::Stream& compute_stream(vm::VirtualMachine& machine, vm::DeviceState& state) {
  constexpr int kCompute = static_cast<int>(vm::StreamType::compute);
  vm::Stream* stream = state.streams[kCompute].load(std::memory_order_acquire);
  return stream ? *stream : machine.stream(state.device.id(), vm::StreamType::compute);
}

void poison_outputs(const Issuer& issuer, const InlineWork& work, const Error& error, vm::Seq seq) {
  const auto failure = std::make_shared<const vm::Failure>(
      vm::Failure{error.kind(), error.what(), work.name, issuer.site, seq,
                  work.stream->device().id(), error.payload()});
  for (int i = 0; i < work.output_count; ++i) work.outputs[i]->dependence().poison(failure, seq);
  issuer.machine.note_failure(failure);
}

void report_inline(const Issuer& issuer, const InlineWork& work, const vm::Description& description,
                   int64_t begin) {
  vm::Instruction header;
  header.type = work.type;
  header.name = work.name;
  header.stream = work.stream;
  header.site = issuer.site;
  if (vm::Observer* observer = issuer.machine.observer()) {
    observer->ran(header, 0, description, false, begin, now_ns());
  }
}

void submit(const Issuer& issuer, KernelPlan& plan) {
  vm::Operand operands[ops::kMaxOperands];
  const int count = operands_of(plan, operands);
  const int last = plan.call.args.iteration.operands - 1;
  TensorStorage& output = *plan.operands[last]->storage;
  vm::Stream& stream = compute_stream(issuer.machine, output.state());
  const double work = ops::work_of(plan.call.args, plan.cost);
  vm::PacedCall call;
  if (output.on_host() && stays_here(issuer, plan, work, call) &&
      run_inline(issuer, plan, operands, count, stream)) {
    return;
  }
  if (!output.on_host() && plan.call.by_device) foresee(output.state().device, plan);
  KernelBody body;
  body.call = plan.call;
  for (int i = 0; i <= last; ++i) {
    const Tensor* tensor = plan.operands[i];
    body.held.add(tensor ? tensor->storage.get() : nullptr);
    // No elements have no place: what a device is given must not leave the storage.
    const bool is_nowhere = !tensor || (i < last && tensor->size() == 0);
    body.call.args.data[i] = reinterpret_cast<char*>(is_nowhere ? 0 : tensor->offset);
  }
  vm::Instruction header;
  header.type = may_join_others(plan, output) ? &kKernelType : &kLoneKernelType;
  header.name = plan.name;
  header.stream = &stream;
  header.site = issuer.site;
  // Host memory is taken when the instruction runs, and then nothing of it is in flight.
  header.bytes = output.on_host() ? 0 : plan.new_bytes;
  header.cost = work;
  issuer.machine.issue(header, operands, count, std::move(body));
}

void require_writable(const char* op, const Tensor& target) {
  if (!target.storage->writable()) {
    fail(ErrorKind::value, "[", op, "] cannot write into a read-only tensor of shape ",
         shape_str(target.shape), "; copy it first");
  }
  if (may_self_overlap(target.shape, target.strides, static_cast<int64_t>(size_of(target.dtype)))) {
    fail(ErrorKind::value, "[", op, "] cannot write into a broadcast view of shape ",
         shape_str(target.shape), "; copy it first");
  }
}

}  // namespace ofl
