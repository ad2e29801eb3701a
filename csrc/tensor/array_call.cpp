#include "tensor/array_call.h"

#include <algorithm>

#include "ops/cuda/foresight.h"
#include "ops/cuda/programs.h"
#include "tensor/submit.h"

namespace ofl {

namespace {

constexpr vm::InstructionType kArrayKernelType = failing_instruction_type<ArrayKernelBody>("op");

double work_of(const ArrayRequest& request) {
  double elements = request.elements;
  if (elements < 0) {
    for (const Tensor* x : request.inputs) elements = std::max(elements, double(x->size()));
    for (const Tensor* x : request.outputs) elements = std::max(elements, double(x->size()));
  }
  return elements * request.kernel->cost;
}

ops::ArrayView view_of(const Tensor& x, char* data) { return {data, x.dtype, x.shape, x.strides}; }

/// What the kernel is told; without its operands.
void describe_call(const ArrayRequest& request, double work, ops::ArrayCall* call) {
  call->kernel = request.kernel;
  call->work = work;
  call->by_device = ops::cuda::uses_kernels();
  call->args.inputs = request.inputs.size();
  call->args.attr.assign(request.attr.begin(), request.attr.end());
  call->args.loop = request.loop;
  call->args.name = request.name;
}

bool run_inline(const Issuer& issuer, const InlineWork& work, const ArrayRequest& request) {
  // Keeps its memory from one call to the next: a kernel that runs here issues none.
  static thread_local ops::ArrayCall call;
  const auto run = [&] {
    describe_call(request, 0, &call);
    call.args.operands.clear();
    for (const auto* tensors : {&request.inputs, &request.outputs}) {
      for (const Tensor* x : *tensors) call.args.operands.push_back(view_of(*x, x->address()));
    }
    call.kernel->run(call.args);
  };
  return run_here(issuer, work, run, [&](vm::Description* out) {
    const Tensor& result = *request.outputs[0];
    out->ndim = std::min(result.ndim(), vm::Description::kMaxDims);
    std::copy_n(result.shape.begin(), out->ndim, out->dims);
    out->dtype = name_of(result.dtype);
  });
}

ArrayKernelBody body_of(const ArrayRequest& request, double work) {
  ArrayKernelBody body;
  body.call = std::make_unique<ops::ArrayCall>();
  describe_call(request, work, body.call.get());
  const auto operands = static_cast<size_t>(request.inputs.size() + request.outputs.size());
  body.call->args.operands.reserve(operands);
  body.offsets.reserve(operands);
  for (const auto* tensors : {&request.inputs, &request.outputs}) {
    for (const Tensor* x : *tensors) {
      body.held.add(x->storage.get());
      // No elements have no place: what a device is given must not leave the storage.
      body.offsets.push_back(x->size() > 0 ? x->offset : 0);
      body.call->args.operands.push_back(view_of(*x, nullptr));
    }
  }
  return body;
}

/// The kernels of a call that is the first of its kind are compiled from now on.
void foresee(ep::Device& device, const ArrayKernelBody& body) {
  const ops::ArrayCall& call = *body.call;
  if (device.runs_host_kernels() || !call.by_device || !call.kernel->on_device) return;
  if (!ops::cuda::is_first_of_its_kind(device, *call.kernel, call.args)) return;
  ops::ArrayArgs args = call.args;
  for (size_t i = 0; i < args.operands.size(); ++i) {
    const auto offset = static_cast<uintptr_t>(body.offsets[i]);
    args.operands[i].data = reinterpret_cast<char*>(ops::cuda::kRehearsedAddress + offset);
  }
  ops::cuda::foresee(device, *call.kernel, args);
}

}  // namespace

void submit_array_kernel(const Issuer& issuer, const ArrayRequest& request) {
  const Tensor& first = *request.outputs[0];
  SmallVector<vm::Operand, 8> operands;
  SmallVector<TensorStorage*, 4> outputs;
  for (const Tensor* x : request.inputs) {
    require_same_device(request.name, first.device(), x->device());
    operands.push_back({&x->storage->dependence(), vm::Access::read});
  }
  size_t bytes = 0;
  for (const Tensor* x : request.outputs) {
    require_same_device(request.name, first.device(), x->device());
    operands.push_back({&x->storage->dependence(), vm::Access::write});
    outputs.push_back(x->storage.get());
    if (!request.in_place) bytes += x->storage->bytes();
  }
  const double cost = work_of(request);
  vm::Stream& stream = compute_stream(issuer.machine, first.storage->state());
  const InlineWork work{&kArrayKernelType, request.name,   operands.data(), operands.size(),
                        outputs.data(),    outputs.size(), &stream};
  vm::PacedCall call;
  vm::VirtualMachine& machine = issuer.machine;
  const auto company = request.kernel->is_awaited ? vm::Company::awaited : vm::Company::alone;
  if (first.storage->on_host() &&
      (machine.is_small(cost) || machine.stays_here(cost, company, call)) &&
      run_inline(issuer, work, request)) {
    return;
  }
  vm::Instruction header;
  header.type = &kArrayKernelType;
  header.name = request.name;
  header.stream = &stream;
  header.site = issuer.site;
  header.bytes = bytes;
  header.cost = cost;
  ArrayKernelBody body = body_of(request, cost);
  foresee(stream.device(), body);
  issuer.machine.issue(header, operands.data(), operands.size(), std::move(body));
}

}  // namespace ofl
