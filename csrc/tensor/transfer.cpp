// Tensors from and to the host and between devices. Copies are instructions: h2d and d2h on streams
// of their own, peer copies on the target's compute stream. Where a device stages pageable memory:
//
//   large h2d   the stream's worker takes the bytes, by pinned chunks; the issuer waits for that.
//               What is pinned is copied as it is, and the issuer waits for the copy
//   small h2d   the issuer copies them to pinned memory, and inside a function large ones, too: the
//               worker may come to the copy only after the function
//   d2h         device ─► pinned memory, and when that is done ─► result; by chunks where it is
//   large
#include <cstring>
#include <optional>

#include "ep/memory/caching_allocator.h"
#include "ep/memory/staging_pool.h"
#include "tensor/op_call.h"
#include "tensor/submit.h"
#include "vm/board/running_scope.h"

namespace ofl {

namespace {

// Pinned memory out at a time, and what one copy may have of it.
constexpr size_t kMostStaged = size_t{64} << 20;
constexpr size_t kTakenHere = size_t{1} << 20;
constexpr size_t kFetchedAtOnce = size_t{16} << 20;

/// A copy to the host that nobody waits for. The host's part is done when the device's is.
struct FetchBody {
  HeldStorages held;  // destination, source
  size_t bytes = 0;
  int64_t source_offset = 0;
  DType dtype = DType::u8;
  Dims shape;
  ep::StagingLease staging;

  void launch(vm::LaunchContext& context) {
    held[0]->materialize(context);
    if (bytes == 0) return;
    const char* source = held[1]->data() + source_offset;
    ep::StagingPool& pool = context.queue.device().staging();
    if (bytes <= kFetchedAtOnce && pool.leased() + bytes <= kMostStaged) {
      staging = pool.lease(bytes);
    }
    char* const target = staging ? staging.data() : held[0]->data();
    context.queue.copy(target, source, bytes, ep::CopyKind::d2h);
  }
  void arrive() {
    if (!staging) return;
    const ep::StagingPool::Transfer transfer(held[1]->state().device.staging(), ep::CopyKind::d2h);
    transfer.copy(held[0]->data(), staging.data(), bytes);
  }
  void describe(vm::Description* out) const {
    CopyBody copy;
    copy.dtype = dtype;
    copy.shape = shape;
    copy.describe(out);
  }
};

constexpr vm::InstructionType fetch_type() {
  vm::InstructionType type = instruction_type<FetchBody>("copy");
  type.retired = [](void* body, const vm::FailurePtr& failure) {
    auto* fetch = static_cast<FetchBody*>(body);
    if (!failure) fetch->arrive();
    fetch->~FetchBody();
  };
  type.ends_on_host = true;
  return type;
}

constexpr vm::InstructionType kCopyType = instruction_type<CopyBody>("copy");
constexpr vm::InstructionType kFetchType = fetch_type();
constexpr vm::InstructionType kAllocateType = instruction_type<AllocateBody>("allocate");

struct CopyKindInfo {
  const char* name;
  vm::StreamType stream;  // compute: the thread's lane
};
constexpr CopyKindInfo kCopyKinds[] = {
    {"h2d", vm::StreamType::h2d},
    {"d2h", vm::StreamType::d2h},
    {"d2d", vm::StreamType::compute},
    {"peer", vm::StreamType::compute},
};

/// `source` (may be null when the body has staging) is row-major, `target` new.
template <typename Body>
vm::Seq submit_transfer(const Issuer& issuer, Device device, ep::CopyKind kind,
                        const Tensor* source, const Tensor& target, const vm::InstructionType& type,
                        Body&& body) {
  const CopyKindInfo& row = kCopyKinds[static_cast<int>(kind)];
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
  header.type = &type;
  header.name = row.name;
  header.stream = vm::info(row.stream).computes
                      ? &compute_stream(issuer.machine, issuer.machine.state(device))
                      : &issuer.machine.stream(device, row.stream);
  header.site = issuer.site;
  header.bytes = body.bytes;
  header.cost = static_cast<double>(body.bytes);
  return issuer.machine.issue(header, operands, count, std::move(body));
}

/// From where to where; the stream is of the device that is no host, of the target's if both are.
ep::CopyKind kind_between(const Tensor& source, const Tensor& target) {
  if (source.storage->on_host()) return ep::CopyKind::h2d;
  return target.storage->on_host() ? ep::CopyKind::d2h : ep::CopyKind::peer;
}

Tensor transfer(const Issuer& issuer, const Tensor& x, Device target) {
  const Tensor source = contiguous(issuer, x);
  Tensor result = make_tensor(issuer.machine.state(target), x.dtype, x.shape, issuer.site);
  if (issuer.sink) {
    const ep::CopyKind kind = kind_between(source, result);
    OpCall call(CallKind::transfer, kCopyKinds[static_cast<int>(kind)].name);
    call.device = target;
    const Input input(&source);
    return take_one(issuer, std::move(call), &input, 1, result);
  }
  if (issuer.plans) {
    issuer.plans->transfer(issuer.site, source, result);
  } else {
    transfer_to(issuer, source, result);
  }
  return result;
}

/// Calls `wait`, again after each interrupt; what interrupted it last, where something did.
template <typename Wait>
std::optional<Error> wait_to_the_end(const Wait& wait) {
  std::optional<Error> interrupt;
  for (;;) {
    try {
      wait();
      return interrupt;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::interrupted) throw;  // nothing moves any more
      interrupt = error;
    }
  }
}

/// The bytes are the caller's again when it returns or throws: an interrupt waits for that.
/// Pageable bytes are taken at launch; pinned ones, whoever has pinned them, are read until the
/// copy has run. They are looked at after the launch: memory that is pinned while the copy waits is
/// seen, too.
void wait_until_taken(vm::VirtualMachine& machine, vm::Seq seq, ep::Device& device,
                      const void* data, size_t bytes) {
  constexpr const char* kReason = "copy from the host";
  std::optional<Error> interrupt =
      wait_to_the_end([&] { machine.wait_until_launched(seq, kReason); });
  if (device.is_pinned(data, bytes)) {
    const std::optional<Error> later = wait_to_the_end([&] { machine.wait(seq, kReason); });
    if (later) interrupt = later;
  }
  if (interrupt) throw *interrupt;
}

/// The stream's worker takes the bytes.
void copy_from_host(const Issuer& issuer, const void* data, const Tensor& result) {
  Tensor source = result;
  void* const place = const_cast<void*>(data);
  const std::shared_ptr<void> borrowed(place, [](void*) {});
  source.storage = StorageRef::adopt(TensorStorage::over(issuer.machine.state(Device{}), place,
                                                         result.storage->bytes(), borrowed, false));
  const vm::Seq seq = submit_transfer(issuer, result.device(), ep::CopyKind::h2d, &source, result,
                                      kCopyType, CopyBody());
  wait_until_taken(issuer.machine, seq, result.storage->state().device, data,
                   result.storage->bytes());
}

}  // namespace

void transfer_to(const Issuer& issuer, const Tensor& source, const Tensor& target) {
  const ep::CopyKind kind = kind_between(source, target);
  const Device device = kind == ep::CopyKind::d2h ? source.device() : target.device();
  if (kind == ep::CopyKind::d2h && source.storage->state().device.stages_pageable()) {
    submit_transfer(issuer, device, kind, &source, target, kFetchType, FetchBody());
    return;
  }
  CopyBody body;
  body.kind = kind;
  submit_transfer(issuer, device, kind, &source, target, kCopyType, std::move(body));
}

void allocate(const Issuer& issuer, const Tensor& x) {
  TensorStorage* const storage = x.storage.get();
  const vm::Operand operand{&storage->dependence(), vm::Access::write};
  vm::Instruction header;
  header.type = &kAllocateType;
  header.name = "empty";
  header.stream = &compute_stream(issuer.machine, storage->state());
  header.site = issuer.site;
  header.bytes = storage->bytes();
  const auto materialize = [storage] { storage->materialize_on_host(); };
  const auto describe = [](vm::Description*) {};
  if (storage->on_host() &&
      run_here(issuer, header, &operand, 1, materialize, describe, issuer.machine.observer())) {
    return;
  }
  AllocateBody body;
  body.held.add(storage);
  issuer.machine.issue(header, &operand, 1, std::move(body));
}

Tensor empty(const Issuer& issuer, Device device, DType dtype, const Dims& shape) {
  return empty(issuer, make_tensor(issuer.machine.state(device), dtype, shape, issuer.site));
}

Tensor empty(const Issuer& issuer, Tensor&& made) {
  const Tensor result = std::move(made);
  if (issuer.sink) {
    OpCall call(CallKind::empty, "empty");
    call.made = {{result.dtype, result.shape, result.strides}};
    call.device = result.device();
    return take_one(issuer, std::move(call), nullptr, 0, result);
  }
  if (issuer.plans) {
    issuer.plans->allocate(issuer.site, result);
  } else {
    allocate(issuer, result);
  }
  return result;
}

Tensor to_device(const Issuer& issuer, const Tensor& x, Device device, bool copy) {
  const Device from = x.device();
  vm::DeviceState& target = issuer.machine.state(device);
  if (from == device) return copy ? cast_copy(issuer, x, x.dtype, "copy") : x;
  const bool through_host =
      !x.storage->on_host() && !target.device.is_host() && from.type != device.type;
  if (!through_host) return transfer(issuer, x, device);
  return to_device(issuer, to_device(issuer, x, Device{}, false), device, false);
}

Tensor from_host(const Issuer& issuer, const void* data, DType dtype, const Dims& shape,
                 Device device) {
  vm::DeviceState& state = issuer.machine.state(device);
  Tensor result = make_tensor(state, dtype, shape, issuer.site);
  if (issuer.sink) {
    const Issuer beside{issuer.machine, issuer.site};
    issuer.sink->constant(issuer.site, result, from_host(beside, data, dtype, shape, device));
    return result;
  }
  const auto bytes = static_cast<size_t>(result.size()) * size_of(dtype);
  if (state.device.is_host()) {
    result.storage->materialize_waiting(issuer.machine, "room in memory");
    if (bytes) std::memcpy(result.storage->data(), data, bytes);
    return result;
  }
  ep::StagingPool& staging = state.device.staging();
  if (state.device.stages_pageable() && !vm::RunningScope::any() &&
      (bytes > kTakenHere || staging.leased() + bytes > kMostStaged)) {
    copy_from_host(issuer, data, result);
    return result;
  }
  CopyBody body;
  body.staging = staging.lease(bytes);
  staging.copy(body.staging.data(), static_cast<const char*>(data), bytes);
  submit_transfer(issuer, device, ep::CopyKind::h2d, nullptr, result, kCopyType, std::move(body));
  return result;
}

// A look takes a snapshot: the copy is ordered like any other read, and nobody else can write to
// it.
Tensor look(const Issuer& issuer, const Tensor& x, const char* reason) {
  if (issuer.sink) issuer.sink->refuse(issuer.site, reason, &x);
  Tensor snapshot;
  if (x.storage->on_host()) {
    snapshot = cast_copy(issuer, x, x.dtype, reason);
  } else {
    snapshot = to_device(issuer, contiguous(issuer, x), Device{}, false);
  }
  issuer.machine.wait_for_value(snapshot.storage->dependence(), reason);
  return snapshot;
}

}  // namespace ofl
