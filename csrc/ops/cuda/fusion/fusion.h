// Fusion on a device: consecutive kernels over one iteration space as one kernel of the device's
// own, with the same bits. What only they would see stays in registers.
//
//   memory ──► element in registers ──► kernel 1 ──► kernel 2 ──► ... ──► memory, what others see
//
// Reductions of whole rows may be among them, and kernels over what they give: then the same
// threads walk a row once for each reduction and once more for what comes after, and what they need
// again they compute again. A reduction of columns, or whose rows are cut into chunks, is the last
// one.
//
// A group grows kernel by kernel, without addresses. Plans are made of it (plan.h), and each runs
// any number of times.
#pragma once

#include <optional>
#include <vector>

#include "ops/cuda/layout/fusion.h"
#include "ops/cuda/reduce/reduce.h"
#include "ops/fusion/space.h"

namespace ofl::ops::cuda {

class FusionGroup : public FusionSpace {
 public:
  static constexpr int kMaxKernels = 32;

  /// Takes a kernel to run with the ones before, after them; false: it must run by itself, and
  /// nothing has changed. args.data and `bases` are those of a KernelCall: offsets, and the number
  /// of each operand's base (-1: a scalar). `args` outlive the group and its plans.
  bool add(const LoopArgs& args, const int16_t* bases);
  bool full() const { return size() == kMaxKernels || is_ended(); }
  int size() const { return static_cast<int>(kernels_.size()); }
  /// The first kernels, up to where nothing that is written before is used after.
  int segment() const;

 private:
  friend class FusionPlan;

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
  bool is_written(int16_t base) const;
  /// By a reduction that nothing may follow.
  bool is_ended() const { return shared_ && (shared_->columns || shared_->chunks > 1); }

  int add_value(const Place& place, DType dtype, std::vector<Value>* values) const;
  bool place_values(const Newcomer& newcomer, Draft* draft) const;

  std::vector<Member> kernels_;
  std::vector<Value> values_;
  std::vector<ScalarValue> scalars_;
  std::optional<SharedReduction> shared_;  // where there are reductions
};

}  // namespace ofl::ops::cuda
