#include "tensor/submit.h"

#include "ep/caching_allocator.h"

namespace ofl {

namespace {

// Up to some 5 us of work: less than handing it to a thread costs.
constexpr double kInlineCost = 16384;

constexpr vm::InstructionType kKernelType = instruction_type<KernelBody>("op");

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

void describe_inline(vm::VirtualMachine& machine, const Issuer& issuer, const KernelPlan& plan,
                     vm::Stream& stream, int64_t begin) {
  vm::Observer* observer = machine.observer();
  if (!observer) return;
  vm::Instruction header;
  header.type = &kKernelType;
  header.name = plan.name;
  header.stream = &stream;
  header.site = issuer.site;
  vm::Description description;
  const ops::Iteration& iteration = plan.call.args.iteration;
  description.ndim = 0;
  for (int d = 0; d < iteration.ndim && d < vm::Description::kMaxDims; ++d) {
    description.dims[description.ndim++] = iteration.rows[d].dim;
  }
  description.dtype = name_of(plan.call.args.dtype[iteration.operands - 1]);
  observer->ran(header, 0, description, false, begin, vm::now_ns());
}

/// Runs the kernel in this thread when nothing stands before it; false when something does.
bool run_inline(const Issuer& issuer, KernelPlan& plan, const vm::Operand* operands, int count,
                vm::Stream& stream) {
  vm::VirtualMachine& machine = issuer.machine;
  const int64_t begin = machine.observer() ? vm::now_ns() : 0;
  vm::InlineScope here(machine, operands, count);
  if (!here) return false;
  const int last = plan.call.args.iteration.operands - 1;
  TensorStorage& output = *plan.operands[last]->storage;
  try {
    output.materialize_on_host();
    for (int i = 0; i <= last; ++i) {
      plan.call.args.data[i] = plan.operands[i]
                                   ? plan.operands[i]->address()
                                   : reinterpret_cast<char*>(&plan.call.args.scalars[i]);
    }
    plan.call.args.kernel(plan.call.args);
  } catch (const ep::CapacityError&) {
    here.decline();  // as an instruction it waits for what others give back
    return false;
  } catch (const Error& error) {
    const vm::Seq seq = here.take_seq();
    auto failure = std::make_shared<const vm::Failure>(vm::Failure{
        error.kind(), error.what(), plan.name, issuer.site, seq, output.device(), error.payload()});
    output.dependence().poison(failure, seq);
    machine.note_failure(failure);
  }
  describe_inline(machine, issuer, plan, stream, begin);
  return true;
}

}  // namespace

KernelPlan::KernelPlan(const char* name, ops::KernelFn kernel, int operands, double cost)
    : name(name), cost(cost) {
  call.args.kernel = kernel;
  call.args.iteration.operands = operands;
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

void submit(const Issuer& issuer, KernelPlan& plan) {
  vm::Operand operands[ops::kMaxOperands];
  const int count = operands_of(plan, operands);
  const int last = plan.call.args.iteration.operands - 1;
  TensorStorage& output = *plan.operands[last]->storage;
  vm::Stream& stream = compute_stream(issuer.machine, output.state());
  const double work = ops::work_of(plan.call.args, plan.cost);
  if (output.on_host() && work <= kInlineCost &&
      run_inline(issuer, plan, operands, count, stream)) {
    return;
  }
  KernelBody body;
  body.call = plan.call;
  for (int i = 0; i <= last; ++i) {
    const Tensor* tensor = plan.operands[i];
    body.held.add(tensor ? tensor->storage.get() : nullptr);
    body.call.args.data[i] = reinterpret_cast<char*>(tensor ? tensor->offset : 0);
  }
  vm::Instruction header;
  header.type = &kKernelType;
  header.name = plan.name;
  header.stream = &stream;
  header.site = issuer.site;
  header.bytes = plan.new_bytes;
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
