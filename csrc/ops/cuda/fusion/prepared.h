// A group of kernels that a program launches at each run: over memories that may begin anywhere,
// and with scalars of each run.
//
//   group ──► plan for memories that the device allocates ──► kernel, made in the background
//        └──► a plan for each other way in which they begin, when a run first has it
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "ops/cuda/fusion/plan.h"

namespace ofl::ops::cuda {

class PreparedGroup {
 public:
  /// A scalar of a member that each launch gives: where the member has it, and its number.
  using GivenScalar = std::pair<const Scalar*, int32_t>;

  /// Of a group that has kernels, over so many bases; what it leaves out is in registers alone.
  PreparedGroup(FusionGroup group, int bases, std::vector<GivenScalar> given);
  PreparedGroup(const PreparedGroup&) = delete;

  /// Has the kernel made in the background. Any thread.
  void make_kernel_soon(ep::Device& device) const { first_->plan.make_kernel_soon(device); }

  /// Enqueues one kernel, in operation `name`, with the memories that begin at these device
  /// addresses, and these scalars by their numbers. False: the kernel is not there (yet), and
  /// nothing is enqueued. CapacityError: the same, for lack of memory. Any thread.
  bool launch(ep::Stream& queue, const char* name, char* const* bases, const Scalar* given) const;

 private:
  struct Planned {
    Planned(const FusionGroup& group, char* const* bases, const std::vector<GivenScalar>& given);

    FusionPlan plan;
    std::vector<int32_t> numbers;  // of its scalars; -1: the same in each launch
  };
  const Planned* find(ep::Device& device, char* const* bases) const;

  const FusionGroup group_;
  const std::vector<GivenScalar> given_;
  std::unique_ptr<const Planned> first_;  // for memories that the device allocates
  mutable std::mutex mutex_;              // guards the rest
  mutable std::vector<std::unique_ptr<const Planned>> others_;
};

}  // namespace ofl::ops::cuda
