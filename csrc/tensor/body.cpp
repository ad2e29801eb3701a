#include "tensor/body.h"

#include <algorithm>

namespace ofl {

namespace {

uint64_t bytes_of(const Dims& shape, DType dtype) {
  return static_cast<uint64_t>(element_count(shape)) * size_of(dtype);
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

void describe_shape(const Dims& shape, DType dtype, vm::Description* out) {
  out->ndim = std::min(shape.size(), vm::Description::kMaxDims);
  std::copy_n(shape.begin(), out->ndim, out->dims);
  out->dtype = name_of(dtype);
}

void describe_result(const ops::LoopArgs& args, vm::Description* out) {
  out->ndim = std::min(args.iteration.ndim, vm::Description::kMaxDims);
  for (int d = 0; d < out->ndim; ++d) out->dims[d] = args.iteration.rows[d].dim;
  out->dtype = name_of(args.dtype[args.size() - 1]);
  for (int k = 0; k < args.size(); ++k) {
    uint64_t bytes = size_of(args.dtype[k]);
    for (int d = 0; d < args.iteration.ndim; ++d) {
      const ops::Iteration::Row& row = args.iteration.rows[d];
      if (row.strides[k] != 0) bytes *= static_cast<uint64_t>(row.dim);
    }
    out->bytes += bytes;
  }
}

void describe_result(const ops::ArrayArgs& args, vm::Description* out) {
  describe_shape(args.output(0).shape, args.output(0).dtype, out);
  for (const ops::ArrayView& x : args.operands) out->bytes += bytes_of(x.shape, x.dtype);
}

namespace {

/// Nobody else holds the input, and all the loops that read it walk it as they walk the output.
bool is_last_use(const ops::LoopArgs& args, const HeldStorages& held, int input) {
  const ops::Iteration& iteration = args.iteration;
  const int out = args.size() - 1;
  const auto size = static_cast<int64_t>(size_of(args.dtype[out]));
  if (iteration.ndim != 1 || iteration.rows[0].strides[out] != size) return false;
  int uses = 0;
  for (int i = 0; i < held.size(); ++i) {
    if (held[i] != held[input]) continue;
    if (args.data[i] || iteration.rows[0].strides[i] != size ||
        size_of(args.dtype[i]) != static_cast<size_t>(size)) {
      return false;
    }
    ++uses;
  }
  return held[input]->references() == uses;
}

/// The input whose memory the output may take; -1: none.
int dying_input(const ops::LoopArgs& args, const HeldStorages& held) {
  const int out = args.size() - 1;
  int dying = -1;
  if (ops::info(args.kernel).placing != ops::Placing::on_input || args.data[out]) return dying;
  for (int i = 0; i < out; ++i) {
    if (held[i] && is_last_use(args, held, i)) dying = i;
  }
  return dying;
}

int dying_input(const ops::ArrayArgs&, const HeldStorages&) { return -1; }

}  // namespace

// The inputs' addresses first: the output may take the memory of one.
template <typename Args>
void KernelBody<Args>::launch(vm::LaunchContext& context) {
  const int dying = dying_input(call.args, held);
  SmallVector<char*, 8> bases(held.size(), nullptr);
  for (int i = 0; i < held.size(); ++i) {
    if (held[i] && !call.args.is_written(i)) bases[i] = held[i]->data();
  }
  for (int i = 0; i < held.size(); ++i) {
    if (!call.args.is_written(i)) continue;
    const bool reuses = dying >= 0 && held[i]->materialize_with(*held[dying]);
    if (!reuses) held[i]->materialize(context);
    bases[i] = held[i]->data();
  }
  in_flight = ops::launch(context.queue, call, bases.data(), &context.slot.async_error);
}

template struct KernelBody<ops::LoopArgs>;
template struct KernelBody<ops::ArrayArgs>;

void CopyBody::launch(vm::LaunchContext& context) {
  held[0]->materialize(context);
  const char* source = staging ? staging.data() : held[1]->data() + source_offset;
  if (bytes) context.queue.copy(held[0]->data(), source, bytes, kind);
}

void CopyBody::describe(vm::Description* out) const {
  describe_shape(shape, dtype, out);
  out->bytes = 2 * bytes_of(shape, dtype);
}

}  // namespace ofl
