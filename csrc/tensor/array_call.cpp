#include "tensor/array_call.h"

#include <algorithm>

#include "tensor/submit.h"

namespace ofl {

namespace {

constexpr vm::InstructionType kArrayKernelType = instruction_type<ArrayKernelBody>("op");

double work_of(const ArrayRequest& request) {
  double elements = request.elements;
  if (elements < 0) {
    for (const Tensor& x : request.inputs) elements = std::max(elements, double(x.size()));
    for (const Tensor& x : request.outputs) elements = std::max(elements, double(x.size()));
  }
  return elements * request.kernel->cost;
}

/// Operands as the machine orders them, and as the kernel sees them; `data` is not yet known.
struct Bound {
  SmallVector<vm::Operand, 4> operands;
  SmallVector<TensorStorage*, 4> outputs;
  ArrayKernelBody body;
};

void bind(const Tensor& x, vm::Access access, Bound* out) {
  out->operands.push_back({&x.storage->dependence(), access});
  if (access == vm::Access::write) out->outputs.push_back(x.storage.get());
  out->body.held.add(x.storage.get());
  out->body.offsets.push_back(x.offset);
  out->body.call->args.operands.push_back({nullptr, x.dtype, x.shape, x.strides});
}

bool run_inline(const Issuer& issuer, const InlineWork& work, ArrayKernelBody& body) {
  ops::ArrayCall& call = *body.call;
  const auto run = [&] {
    for (int i = 0; i < body.held.size(); ++i) {
      call.args.operands[i].data = body.held[i]->data() + body.offsets[i];
    }
    call.kernel->run(call.args);
  };
  return run_here(issuer, work, run, [&](vm::Description* out) { body.describe(out); });
}

}  // namespace

void submit_array_kernel(const Issuer& issuer, ArrayRequest&& request) {
  const Tensor& first = request.outputs.front();
  Bound bound;
  bound.body.call = std::make_unique<ops::ArrayCall>();
  ops::ArrayCall& call = *bound.body.call;
  call.kernel = request.kernel;
  call.args.operands.reserve(request.inputs.size() + request.outputs.size());
  bound.body.offsets.reserve(request.inputs.size() + request.outputs.size());
  call.work = work_of(request);
  call.args.inputs = static_cast<int>(request.inputs.size());
  call.args.attr = std::move(request.attr);
  call.args.loop = request.loop;
  call.args.name = request.name;
  size_t bytes = 0;
  for (const Tensor& x : request.inputs) {
    require_same_device(request.name, first.device(), x.device());
    bind(x, vm::Access::read, &bound);
  }
  for (const Tensor& x : request.outputs) {
    require_same_device(request.name, first.device(), x.device());
    bind(x, vm::Access::write, &bound);
    if (!request.in_place) bytes += x.storage->bytes();
  }
  vm::Stream& stream = compute_stream(issuer.machine, first.storage->state());
  const InlineWork work{&kArrayKernelType,
                        request.name,
                        bound.operands.data(),
                        bound.operands.size(),
                        bound.outputs.data(),
                        bound.outputs.size(),
                        &stream};
  if (first.storage->on_host() &&
      call.work <= issuer.machine.options().inline_cost.load(std::memory_order_relaxed) &&
      run_inline(issuer, work, bound.body)) {
    return;
  }
  vm::Instruction header;
  header.type = &kArrayKernelType;
  header.name = request.name;
  header.stream = &stream;
  header.site = issuer.site;
  header.bytes = bytes;
  header.cost = call.work;
  issuer.machine.issue(header, bound.operands.data(), bound.operands.size(), std::move(bound.body));
}

}  // namespace ofl
