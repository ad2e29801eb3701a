// Instruction bodies of the tensor layer, and what they share: holding storages while in flight.
#pragma once

#include <memory>

#include "ep/memory/staging_pool.h"
#include "ops/launch.h"
#include "tensor/tensor.h"

namespace ofl {

/// Storages that an instruction keeps alive. Memory of the queue's own device is let go at launch
/// (queue order protects it), everything else at retirement.
class HeldStorages {
 public:
  HeldStorages() = default;
  HeldStorages(const HeldStorages&) = delete;
  HeldStorages(HeldStorages&&) noexcept = default;
  ~HeldStorages();

  void add(TensorStorage* storage);  // nullptr: an empty place
  void launched(vm::Stream& stream, uint64_t position);
  int size() const { return held_.size(); }
  TensorStorage* operator[](int i) const { return held_[i].storage; }

 private:
  struct Held {
    TensorStorage* storage;
    bool memory_dropped;
  };

  SmallVector<Held, ops::kMaxOperands> held_;
};

/// The shape and the dtype of what a kernel makes; of loops, the shape that they walk.
void describe_result(const ops::LoopArgs& args, vm::Description* out);
void describe_result(const ops::ArrayArgs& args, vm::Description* out);
void describe_shape(const Dims& shape, DType dtype, vm::Description* out);

/// A kernel. The bases of its call are the memories of the held storages.
template <typename Args>
struct KernelBody {
  ops::KernelCall<Args> call;
  HeldStorages held;                         // of the operands, in their order
  std::shared_ptr<ops::InFlight> in_flight;  // in use by the queue, or null

  void launch(vm::LaunchContext& context);
  void describe(vm::Description* out) const { describe_result(call.args, out); }
  std::optional<Error> failure() const { return in_flight ? in_flight->failure() : std::nullopt; }
};
using LoopBody = KernelBody<ops::LoopArgs>;

/// Of instructions whose body is a LoopBody and that may run as one with others. Defined where they
/// are issued, as only there it is known how they begin a group (submit.cpp).
extern const vm::InstructionType kLoopType;

/// Bytes from one place to another through a device's queue.
struct CopyBody {
  HeldStorages held;         // destination, then the source storage if there is one
  ep::StagingLease staging;  // or: the source in pinned host memory
  ep::CopyKind kind = ep::CopyKind::h2d;
  size_t bytes = 0;
  int64_t source_offset = 0;
  DType dtype = DType::u8;
  Dims shape;

  void launch(vm::LaunchContext& context);
  void describe(vm::Description* out) const;
};

/// Makes memory exist (flow.empty).
struct AllocateBody {
  HeldStorages held;

  void launch(vm::LaunchContext& context) { held[0]->materialize(context); }
  void describe(vm::Description*) const {}
};

/// The function table of a body type with `held`, `launch` and `describe`.
template <typename Body>
constexpr vm::InstructionType instruction_type(const char* kind) {
  return {
      kind,
      [](void* body, vm::LaunchContext& context) { static_cast<Body*>(body)->launch(context); },
      [](void* body, vm::Stream& stream, uint64_t position) {
        static_cast<Body*>(body)->held.launched(stream, position);
      },
      [](void* body, const vm::FailurePtr&) { static_cast<Body*>(body)->~Body(); },
      [](const void* body, vm::Description* out) { static_cast<const Body*>(body)->describe(out); },
  };
}

/// The same of one with `failure`.
template <typename Body>
constexpr vm::InstructionType failing_instruction_type(const char* kind) {
  vm::InstructionType type = instruction_type<Body>(kind);
  type.failure = [](const void* body) { return static_cast<const Body*>(body)->failure(); };
  return type;
}

}  // namespace ofl
