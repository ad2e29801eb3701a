#include "tensor/body.h"

#include <algorithm>
#include <utility>

namespace ofl {

namespace {

void describe_shape(const Dims& shape, DType dtype, vm::Description* out) {
  out->ndim = std::min(shape.size(), vm::Description::kMaxDims);
  std::copy_n(shape.begin(), out->ndim, out->dims);
  out->dtype = name_of(dtype);
}

}  // namespace

HeldStorages::HeldStorages(HeldStorages&& other) noexcept : count_(other.count_) {
  std::copy_n(other.storages_, count_, storages_);
  std::copy_n(other.memory_dropped_, count_, memory_dropped_);
  other.count_ = 0;
}

HeldStorages::~HeldStorages() {
  for (int i = 0; i < count_; ++i) {
    if (!storages_[i]) continue;
    if (!memory_dropped_[i]) storages_[i]->drop_memory();
    storages_[i]->drop_ref();
  }
}

void HeldStorages::add(TensorStorage* storage) {
  if (storage) storage->acquire();
  storages_[count_++] = storage;
}

void HeldStorages::launched(vm::Stream& stream, uint64_t position) {
  for (int i = 0; i < count_; ++i) {
    TensorStorage* storage = storages_[i];
    if (!storage || storage->on_host() || &storage->state() != &stream.state()) continue;
    storage->note_use(stream, position);
    memory_dropped_[i] = true;
    storage->drop_memory();
  }
}

void KernelBody::launch(vm::LaunchContext& context) {
  const int operands = call.args.iteration.operands;
  held[operands - 1]->materialize(context);
  for (int i = 0; i < operands; ++i) {
    if (held[i])
      call.args.data[i] = held[i]->data() + reinterpret_cast<intptr_t>(call.args.data[i]);
  }
  call.async_error = &context.slot.async_error;
  ops::launch(context.queue, call);
}

void KernelBody::describe(vm::Description* out) const {
  const ops::Iteration& iteration = call.args.iteration;
  out->ndim = std::min(iteration.ndim, vm::Description::kMaxDims);
  for (int d = 0; d < out->ndim; ++d) out->dims[d] = iteration.rows[d].dim;
  out->dtype = name_of(call.args.dtype[iteration.operands - 1]);
}

void CopyBody::launch(vm::LaunchContext& context) {
  held[0]->materialize(context);
  const char* source = staging ? staging.data() : held[1]->data() + source_offset;
  if (bytes) context.queue.copy(held[0]->data(), source, bytes, kind);
}

void CopyBody::describe(vm::Description* out) const { describe_shape(shape, dtype, out); }

}  // namespace ofl
