// Tensors from and to the host and between devices. Copies are instructions: h2d and d2h on streams
// of their own, peer copies on the target's compute stream.
#include <cstring>

#include "ep/caching_allocator.h"
#include "ep/staging_pool.h"
#include "tensor/submit.h"

namespace ofl {

namespace {

constexpr vm::InstructionType kCopyType = instruction_type<CopyBody>("copy");
constexpr vm::InstructionType kAllocateType = instruction_type<AllocateBody>("allocate");

struct CopyKindInfo {
  const char* name;
  vm::StreamType stream;
};
constexpr CopyKindInfo kCopyKinds[] = {
    {"h2d", vm::StreamType::h2d},
    {"d2h", vm::StreamType::d2h},
    {"d2d", vm::StreamType::compute},
    {"peer", vm::StreamType::compute},
};

/// `source` (may be null when the body has staging) is row-major, `target` new.
void submit_transfer(const Issuer& issuer, Device device, const Tensor* source,
                     const Tensor& target, CopyBody&& body) {
  const CopyKindInfo& kind = kCopyKinds[static_cast<int>(body.kind)];
  vm::Operand operands[2] = {{&target.storage->dependence(), vm::Access::write}};
  int count = 1;
  body.held.add(target.storage.get());
  if (source) {
    operands[count++] = {&source->storage->dependence(), vm::Access::read};
    body.held.add(source->storage.get());
    body.source_offset = source->offset;
  }
  body.bytes = target.storage->bytes();
  body.dtype = target.dtype;
  body.shape = target.shape;
  vm::Instruction header;
  header.type = &kCopyType;
  header.name = kind.name;
  header.stream = &issuer.machine.stream(device, kind.stream);
  header.site = issuer.site;
  header.bytes = body.bytes;
  header.cost = static_cast<double>(body.bytes);
  issuer.machine.issue(header, operands, count, std::move(body));
}

Tensor transfer(const Issuer& issuer, const Tensor& x, Device stream_device, Device target,
                ep::CopyKind kind) {
  const Tensor source = contiguous(issuer, x);
  Tensor result = make_tensor(issuer.machine.state(target), x.dtype, x.shape, issuer.site);
  CopyBody body;
  body.kind = kind;
  submit_transfer(issuer, stream_device, &source, result, std::move(body));
  return result;
}

}  // namespace

Tensor empty(const Issuer& issuer, Device device, DType dtype, const Dims& shape) {
  Tensor result = make_tensor(issuer.machine.state(device), dtype, shape, issuer.site);
  const vm::Operand operand{&result.storage->dependence(), vm::Access::write};
  TensorStorage* const storage = result.storage.get();
  vm::Stream& stream = compute_stream(issuer.machine, storage->state());
  const InlineWork work{&kAllocateType, "empty", &operand, 1, &storage, 1, &stream};
  if (storage->on_host() && run_here(issuer, work, [] {}, [](vm::Description*) {})) return result;
  AllocateBody body;
  body.held.add(storage);
  vm::Instruction header;
  header.type = &kAllocateType;
  header.name = "empty";
  header.stream = &stream;
  header.site = issuer.site;
  header.bytes = result.storage->bytes();
  issuer.machine.issue(header, &operand, 1, std::move(body));
  return result;
}

Tensor to_device(const Issuer& issuer, const Tensor& x, Device device, bool copy) {
  const Device from = x.device();
  vm::DeviceState& target = issuer.machine.state(device);
  if (from == device) return copy ? cast_copy(issuer, x, x.dtype, "copy") : x;
  if (x.storage->on_host()) return transfer(issuer, x, device, device, ep::CopyKind::h2d);
  if (target.device.is_host()) return transfer(issuer, x, from, device, ep::CopyKind::d2h);
  if (from.type == device.type) return transfer(issuer, x, device, device, ep::CopyKind::peer);
  return to_device(issuer, to_device(issuer, x, Device{}, false), device, false);
}

Tensor from_host(const Issuer& issuer, const void* data, DType dtype, const Dims& shape,
                 Device device) {
  vm::DeviceState& state = issuer.machine.state(device);
  Tensor result = make_tensor(state, dtype, shape, issuer.site);
  const auto bytes = static_cast<size_t>(result.size()) * size_of(dtype);
  if (state.device.is_host()) {
    result.storage->materialize_on_host();  // nobody else has the handle yet
    if (bytes) std::memcpy(result.storage->data(), data, bytes);
    return result;
  }
  CopyBody body;
  body.staging = state.device.staging().lease(bytes);
  if (bytes) std::memcpy(body.staging.data(), data, bytes);
  body.kind = ep::CopyKind::h2d;
  submit_transfer(issuer, device, nullptr, result, std::move(body));
  return result;
}

// A look takes a snapshot: the copy is ordered like any other read, and nobody else can write to
// it.
Tensor look(const Issuer& issuer, const Tensor& x, const char* reason) {
  Tensor snapshot;
  if (x.storage->on_host()) {
    snapshot = cast_copy(issuer, x, x.dtype, reason);
  } else {
    snapshot = to_device(issuer, contiguous(issuer, x), Device{}, false);
  }
  issuer.machine.wait_for_value(snapshot.storage->dependence(), reason);
  return snapshot;
}

namespace {

/// A call for each size would take longer than the copy.
void copy_element(const void* from, size_t size, void* to) {
  switch (size) {
    case 4: std::memcpy(to, from, 4); break;
    case 8: std::memcpy(to, from, 8); break;
    default: std::memcpy(to, from, size);
  }
}

}  // namespace

bool read_element(vm::VirtualMachine& machine, const Tensor& x, Scalar* element) {
  if (!x.storage->on_host()) return false;
  if (x.storage->is_settled()) {
    copy_element(x.address(), size_of(x.dtype), element->bytes);
    return true;
  }
  const vm::Operand read{&x.storage->dependence(), vm::Access::read};
  vm::InlineScope here(machine, &read, 1);
  if (!here) return false;
  copy_element(x.address(), size_of(x.dtype), element->bytes);
  return true;
}

bool write_element(vm::VirtualMachine& machine, TensorStorage& storage, int64_t offset, DType dtype,
                   const Scalar& element) {
  if (!storage.on_host() || !storage.writable() || machine.observer()) return false;
  if (!storage.is_settled()) return false;
  copy_element(element.bytes, size_of(dtype), storage.data() + offset);
  return true;
}

}  // namespace ofl
