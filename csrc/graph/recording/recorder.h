// Recorder: a sink that writes calls down. The tensors that the program gets are ordinary ones
// without memory, poisoned from birth: who uses one after the recording gets an error.
//
//   storage ──► memory: base (how the whole lies), version (the value that it holds now)
//   tensor  ──► the version itself, or a view of it, which is an operation, made once
//   write   ──► a new version
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "graph/recording/recording.h"

namespace ofl::graph {

/// Belongs to one thread. Who makes it its thread's sink says so to the machine (note_recording).
class Recorder final : public Sink {
 public:
  static constexpr const char* kAlias = "alias";  // the name of calls that alias_of() records

  /// `name`: of what is recorded, in errors.
  Recorder(vm::VirtualMachine& machine, std::string name);
  Recorder(const Recorder&) = delete;

  /// What the recorded function gets in the place of `given`.
  Tensor parameter(const Tensor& given, vm::SiteId site);
  /// A parameter for the bytes of `memory`, which has all of its storage; returns what the function
  /// gets in the place of tensors over it. From here on tensors of their storages are views of it.
  std::vector<Tensor> parameters_over(const Tensor& memory, const std::vector<Tensor>& given,
                                      vm::SiteId site);
  /// A parameter of this type, in the place of no tensor.
  Tensor parameter(Device device, DType dtype, const Dims& shape, const Dims& strides);
  /// A tensor over memory of its own that has this value now. Writes to it change no other one.
  Tensor tensor_of(int64_t value, vm::SiteId site);
  /// The same for a value that is equal to that of `x`, and has a number of its own: what is
  /// computed from it can be told from what is computed from `x`.
  Tensor alias_of(const Tensor& x, vm::SiteId site);
  /// Operations from `begin` on get the line and, but for views, the lane of the operation `like`.
  void place_like(size_t begin, size_t like);
  /// The value that `x` has now; `site` is where a view is seen the first time.
  int64_t value_of(const Tensor& x, vm::SiteId site);
  /// Which value the memory of `x` has now, and how x lies in it, as the attr of a view; empty: it
  /// is the value itself. Nothing for a tensor that this recording does not know.
  std::optional<std::pair<int64_t, std::vector<int64_t>>> find(const Tensor& x) const;
  /// The value that the memory of a parameter or capture has at the end, where it was written to.
  std::vector<Written> written() const;
  /// Pairs of parameters and captures that have memory in common.
  std::vector<std::pair<int64_t, int64_t>> overlaps() const;
  /// Values of tensors without memory that somebody else holds, with where each was made.
  std::vector<std::pair<int64_t, vm::SiteId>> held_elsewhere() const;

  const std::vector<Value>& values() const { return values_; }
  const std::vector<Operation>& operations() const { return operations_; }

  void take(vm::SiteId site, OpCall&& call, const Input* inputs, int count,
            const Tensor* const* outputs, int output_count) override;
  void constant(vm::SiteId site, const Tensor& result, Tensor&& value) override;
  [[noreturn]] void refuse(vm::SiteId site, const char* op, const Tensor* x) override;

 private:
  struct Memory {
    Tensor base;      // the whole, as its first value lies; keeps the storage
    int64_t first;    // the value that it had first
    int64_t version;  // and has now
    bool made_here;   // it has no bytes
    vm::SiteId site;  // where it was made
    std::map<std::vector<int64_t>, int64_t> views;  // of this version: how they lie, their values
  };

  /// Refuses a tensor that another recorder has made.
  static void check(const Tensor& x);
  Memory& memory_of(const Tensor& x);
  /// The tensor itself, or where it is over the memory of parameters_over() a view of that one.
  Tensor standing_for(const Tensor& x) const;
  Memory& adopt(const Tensor& x);
  int64_t add_value(Origin origin, const Tensor& x, Tensor given);
  Tensor add_parameter(vm::DeviceState& state, Tensor x, bool writable, Tensor given,
                       vm::SiteId site);
  int64_t add_view(Memory& memory, const Tensor& x, vm::SiteId site);
  /// An operation whose result is seen as `x` in the memory of the value.
  int64_t add_view(const char* name, int64_t value, const std::vector<int64_t>& layout,
                   const Tensor& x, vm::SiteId site);
  Memory& add_memory(const Tensor& base, int64_t value, bool made_here, vm::SiteId site);
  void poison(const Tensor& x, const char* op, vm::SiteId site) const;

  vm::VirtualMachine& machine_;
  const std::string name_;
  std::vector<Value> values_;
  std::vector<Operation> operations_;
  std::unordered_map<TensorStorage*, Memory> memories_;
  std::vector<TensorStorage*> order_;  // of the memories, as they came

  struct Shared {
    TensorStorage* memory;  // that stands for it
    int64_t start;          // of the storage, in that one
    StorageRef held;        // so that its address names it
  };
  std::unordered_map<TensorStorage*, Shared> shared_;
};

}  // namespace ofl::graph
