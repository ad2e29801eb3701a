#include "tensor/body.h"

#include <algorithm>

#include "ops/fusion/fusion.h"

namespace ofl {

namespace {

void describe_shape(const Dims& shape, DType dtype, vm::Description* out) {
  out->ndim = std::min(shape.size(), vm::Description::kMaxDims);
  std::copy_n(shape.begin(), out->ndim, out->dims);
  out->dtype = name_of(dtype);
}

}  // namespace

HeldStorages::~HeldStorages() {
  for (const Held& held : held_) {
    if (!held.storage) continue;
    if (!held.memory_dropped) held.storage->drop_memory();
    held.storage->drop_instruction_ref();
  }
}

void HeldStorages::add(TensorStorage* storage) {
  if (storage) storage->acquire_for_instruction();
  held_.push_back({storage, false});
}

void HeldStorages::launched(vm::Stream& stream, uint64_t position) {
  for (Held& held : held_) {
    TensorStorage* storage = held.storage;
    if (!storage || storage->on_host() || &storage->state() != &stream.state()) continue;
    storage->note_use(stream, position);
    held.memory_dropped = true;
    storage->drop_memory();
  }
}

// The inputs' addresses first: the output may take the memory of one.
void KernelBody::launch(vm::LaunchContext& context) {
  const int out = call.args.iteration.operands - 1;
  const auto offset = [this](int i) { return reinterpret_cast<intptr_t>(call.args.data[i]); };
  int dying = -1;
  if (ops::is_elementwise(call.args) && offset(out) == 0) {
    for (int i = 0; i < out; ++i) {
      if (held[i] && is_last_use(i)) dying = i;
    }
  }
  for (int i = 0; i < out; ++i) {
    if (held[i]) call.args.data[i] = held[i]->data() + offset(i);
  }
  const bool reuses = dying >= 0 && held[out]->materialize_with(*held[dying]);
  if (!reuses) held[out]->materialize(context);
  call.args.data[out] = held[out]->data() + offset(out);
  call.async_error = &context.slot.async_error;
  call.name = context.slot.header.name;
  in_flight = ops::launch(context.queue, call);
}

/// Nobody else holds the input, and all the loops that read it walk it as they walk the output.
bool KernelBody::is_last_use(int input) const {
  const ops::Iteration& iteration = call.args.iteration;
  const int out = iteration.operands - 1;
  const auto size = static_cast<int64_t>(size_of(call.args.dtype[out]));
  if (iteration.ndim != 1 || iteration.rows[0].strides[out] != size) return false;
  int uses = 0;
  for (int i = 0; i < held.size(); ++i) {
    if (held[i] != held[input]) continue;
    if (call.args.data[i] || iteration.rows[0].strides[i] != size ||
        size_of(call.args.dtype[i]) != static_cast<size_t>(size)) {
      return false;
    }
    ++uses;
  }
  return held[input]->references() == uses;
}

void KernelBody::describe(vm::Description* out) const {
  const ops::Iteration& iteration = call.args.iteration;
  out->ndim = std::min(iteration.ndim, vm::Description::kMaxDims);
  for (int d = 0; d < out->ndim; ++d) out->dims[d] = iteration.rows[d].dim;
  out->dtype = name_of(call.args.dtype[iteration.operands - 1]);
}

void ArrayKernelBody::launch(vm::LaunchContext& context) {
  for (int i = call->args.inputs; i < held.size(); ++i) held[i]->materialize(context);
  for (int i = 0; i < held.size(); ++i) {
    call->args.operands[i].data = held[i]->data() + offsets[i];
  }
  call->async_error = &context.slot.async_error;
  in_flight = ops::launch(context.queue, *call);
}

void ArrayKernelBody::describe(vm::Description* out) const {
  const ops::ArrayView& result = call->args.output(0);
  describe_shape(result.shape, result.dtype, out);
}

void CopyBody::launch(vm::LaunchContext& context) {
  held[0]->materialize(context);
  const char* source = staging ? staging.data() : held[1]->data() + source_offset;
  if (bytes) context.queue.copy(held[0]->data(), source, bytes, kind);
}

void CopyBody::describe(vm::Description* out) const { describe_shape(shape, dtype, out); }

}  // namespace ofl
