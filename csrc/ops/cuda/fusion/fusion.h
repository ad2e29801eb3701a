// Fusion on a device: consecutive kernels over one iteration space as one kernel of the device's
// own, with the same bits. What only they would see stays in registers.
//
//   memory ──► element in registers ──► kernel 1 ──► kernel 2 ──► ... ──► memory, what others see
//
// Reductions of whole rows may be among them, and kernels over what they give: then the same
// threads walk a row once for each reduction and once more for what comes after, and what they need
// again they compute again. A reduction of columns, or whose rows are cut into chunks, is the last
// one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/cuda/launching.h"
#include "ops/cuda/layout/fusion.h"
#include "ops/cuda/programs.h"
#include "ops/cuda/reduce/reduce.h"
#include "ops/fusion/space.h"

namespace ofl::ops::cuda {

class FusionGroup : public FusionSpace {
 public:
  static constexpr int kMaxKernels = 32;

  /// Takes a kernel to run with the ones before, after them; false: it must run by itself. `args`
  /// outlive the group.
  bool add(const LoopArgs& args, void* const* memories);
  bool full() const { return size() == kMaxKernels || is_ended(); }
  int size() const { return static_cast<int>(kernels_.size()); }
  /// The first kernels, up to where nothing that is written before is used after.
  int segment() const;

  /// The one kernel that runs all; nullptr: there is none, or not yet (it is being compiled). What
  /// is unseen lives in registers; what is in memory by now has an address.
  void* find_kernel(ep::Device& device);
  /// Enqueues it; all other memories have addresses. False: it cannot be, and nothing is enqueued.
  bool launch(Launching& launching, void* kernel);

 private:
  /// An operand is a place, by number, or after those a scalar.
  struct Member {
    const LoopArgs* args;
    std::vector<int> operands;
    bool reduces() const { return args->kernel == KernelId::reduce; }
  };
  /// A place that kernels share, as a value in registers.
  struct Value {
    Place place;
    DType dtype;
    bool loaded;  // its first use reads it
    bool written;
  };
  struct ScalarValue {
    const Scalar* value;
    DType dtype;
  };
  struct Draft;

  bool take_reduction(const LoopArgs& args, Draft* draft) const;
  bool take_elementwise(const LoopArgs& args, Draft* draft) const;
  int repeated() const;
  bool is_written(void* memory) const;
  /// By a reduction that nothing may follow.
  bool is_ended() const { return shared_ && (shared_->columns || shared_->chunks > 1); }

  bool is_stored(const Value& value) const;
  bool is_in_memory(const Value& value) const { return value.loaded || is_stored(value); }
  bool is_one_run() const;
  bool is_narrow() const;
  int64_t run() const;
  bool stands_still(const Value& value) const;
  bool is_contiguous(const Value& value) const;
  bool is_aligned(const Value& value, int64_t lanes) const;
  int64_t widest() const;
  int64_t lanes() const;

  int add_value(const Place& place, DType dtype, std::vector<Value>* values) const;
  bool place_values(const Newcomer& newcomer, Draft* draft) const;
  std::string key() const;
  KernelRequest make_request() const;
  char* address_of(const Value& value) const;
  LoopArgs last_reduction() const;
  void fill_in(layout::FusedArgs* args) const;

  std::vector<Member> kernels_;
  std::vector<Value> values_;
  std::vector<ScalarValue> scalars_;
  std::optional<SharedReduction> shared_;  // where there are reductions
};

}  // namespace ofl::ops::cuda
