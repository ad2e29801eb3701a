// A group of kernels as one kernel of the device's own, prepared once and launched often, also by
// several threads at once. It has no address: each launch brings a table of bases, as in
// ops/fusion/plan.h.
//
//   group ──► key, arguments ──► kernel, when it is compiled ──┬─► launch: a copy with addresses
//                                                              └─► launch: another one
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/cuda/fusion/fusion.h"
#include "ops/cuda/launching.h"
#include "ops/cuda/programs.h"

namespace ofl::ops::cuda {

/// Of one device.
class FusionPlan {
 public:
  /// Of a group that has kernels; what it leaves out is in registers alone. Which vectors the
  /// kernel moves depends on where bases begin: the plan is for `bases`, and for others that it
  /// fits. Null: one that the device will allocate.
  FusionPlan(FusionGroup group, char* const* bases);
  FusionPlan(const FusionPlan&) = delete;

  const std::vector<FusionSpace::Memory>& memories() const { return group_.memories(); }
  /// Whether it may be launched with them; else a plan for them is needed. Those that the device
  /// has allocated fit where null or others like them were given.
  bool fits(char* const* bases) const;
  /// The one kernel that runs all; nullptr: there is none, or not yet (it is being compiled, from
  /// the second call on). Any thread.
  void* find_kernel(ep::Device& device) const;
  /// Has that kernel made in the background now: the plan is for many launches. Any thread.
  void make_kernel_soon(ep::Device& device) const;
  /// Where the scalars of the members are, in an order that stays.
  std::vector<const Scalar*> scalars() const;
  /// Enqueues it with the memories that begin at these device addresses, which fit. The bases of
  /// memories that are unseen are not looked at. `scalars`: for each of scalars() another value, or
  /// null; null: all are as they were. False: it cannot be, and nothing is enqueued. Any thread.
  bool launch(Launching& launching, void* kernel, char* const* bases,
              const Scalar* const* scalars = nullptr) const;

 private:
  using Member = FusionGroup::Member;
  using Value = FusionGroup::Value;

  const std::vector<Value>& values() const { return group_.values_; }
  const std::vector<int64_t>& bounds() const { return group_.bounds_; }
  static uintptr_t begin_of(const char* base);
  uintptr_t begin_of(const Value& value) const;

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

  std::string key() const;
  KernelRequest make_request() const;
  void fill_in(layout::FusedArgs* args) const;

  char* address_of(const Value& value, char* const* bases) const;
  void place(char* const* bases, layout::FusedArgs* args) const;
  const Value& last_input() const;
  LoopArgs last_reduction(char* const* bases) const;

  const FusionGroup group_;
  std::vector<uint8_t> begins_;  // of the memories
  std::optional<SharedReduction> shared_;
  int64_t lanes_ = 1;
  std::string key_;
  layout::FusedArgs args_;                      // without addresses
  mutable std::atomic<void*> kernel_{nullptr};  // of a process: it stays once it is known
};

}  // namespace ofl::ops::cuda
