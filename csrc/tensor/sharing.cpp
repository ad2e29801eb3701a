#include "tensor/sharing.h"

#include <optional>
#include <utility>

#include "tensor/op_call.h"
#include "tensor/submit.h"

namespace ofl {

namespace {

/// What the instruction tells the thread that issued it.
struct Handed {
  ep::EventLease ready;
  std::optional<Error> error;
};

/// An event behind everything that uses the storage. Where there is none, that is the issuer's
/// error: the value is sound.
struct HandOverBody {
  HeldStorages held;
  std::shared_ptr<Handed> handed;

  void launch(vm::LaunchContext& context) {
    try {
      ep::EventLease event = context.queue.device().events().lease();
      context.queue.record(*event);
      handed->ready = std::move(event);
    } catch (const Error& error) {
      handed->error = error;
    }
  }
  void describe(vm::Description*) const {}
};

/// The first "write" of a storage that others have written.
struct TakeOverBody {
  HeldStorages held;
  ep::EventLease ready;

  void launch(vm::LaunchContext& context) {
    if (ready) context.queue.wait(*ready);
  }
  void describe(vm::Description*) const {}
};

constexpr vm::InstructionType kHandOverType = instruction_type<HandOverBody>("share");
constexpr vm::InstructionType kTakeOverType = instruction_type<TakeOverBody>("share");

/// On the compute stream, as a write: after all accesses.
template <typename Body>
vm::Seq submit_share(const Issuer& issuer, const vm::InstructionType& type, const char* name,
                     TensorStorage& storage, Body&& body) {
  const vm::Operand operand{&storage.dependence(), vm::Access::write};
  body.held.add(&storage);
  vm::Instruction header;
  header.type = &type;
  header.name = name;
  header.stream = &compute_stream(issuer.machine, storage.state());
  header.site = issuer.site;
  return issuer.machine.issue(header, &operand, 1, std::forward<Body>(body));
}

}  // namespace

ep::EventLease hand_over(const Issuer& issuer, const Tensor& x, const char* reason) {
  if (issuer.sink) issuer.sink->refuse(issuer.site, reason, &x);
  TensorStorage& storage = *x.storage;
  storage.note_export();
  HandOverBody body;
  body.handed = std::make_shared<Handed>();
  const std::shared_ptr<Handed> handed = body.handed;
  const vm::Seq seq = submit_share(issuer, kHandOverType, "hand over", storage, std::move(body));
  issuer.machine.wait_until_launched(seq, reason);
  if (vm::FailurePtr failure = storage.dependence().failure()) throw vm::OperationError(*failure);
  if (handed->error) throw *handed->error;
  storage.enter_shared(issuer.machine);
  return handed->ready;
}

StorageRef take_over(const Issuer& issuer, Device device, void* data, size_t bytes,
                     std::shared_ptr<void> owner, bool writable, ep::EventLease ready) {
  if (issuer.sink) issuer.sink->refuse(issuer.site, "from_dlpack", nullptr);
  StorageRef storage = StorageRef::adopt(
      TensorStorage::over(issuer.machine.state(device), data, bytes, std::move(owner), writable));
  storage->enter_shared(issuer.machine);
  TakeOverBody body;
  body.ready = std::move(ready);
  submit_share(issuer, kTakeOverType, "take over", *storage, std::move(body));
  return storage;
}

Tensor empty_pinned(const Issuer& issuer, Device device, DType dtype, const Dims& shape) {
  vm::DeviceState& host = issuer.machine.state(Device{});
  Tensor result;
  result.dtype = dtype;
  result.shape = shape;
  const auto itemsize = static_cast<int64_t>(size_of(dtype));
  count_elements(shape, itemsize, "empty");
  result.strides = contiguous_strides(shape, itemsize);
  result.storage = StorageRef::adopt(TensorStorage::make_pinned(
      host, issuer.machine.state(device).device, static_cast<size_t>(result.size() * itemsize)));
  return result;
}

}  // namespace ofl
