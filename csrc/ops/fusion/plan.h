// A group of kernels, prepared once and run often, also by several threads at once. The plan is
// const and has no address; each run brings a table of bases.
//
//   FusionGroup group;
//   for (call : calls) {                      // KernelCall<LoopArgs>, which outlive the plan
//     if (!group.add(call.args, call.bases.data())) ...   // this one runs by itself
//   }
//   group.leave_out([&](const auto& memory) { return !is_needed_after(memory.base); });
//   const FusionPlan plan(std::move(group));
//   int failed;
//   plan.run(bases, helpers, &failed);        // bases[call.bases[k]] + call.args.data[k]
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/fusion/fusion.h"

namespace ofl::ops {

class FusionPlan {
 public:
  /// Of a group that has kernels; what it leaves out is in tiles alone.
  explicit FusionPlan(FusionGroup group);
  FusionPlan(const FusionPlan&) = delete;

  /// Runs all kernels over the memories that begin at these host addresses. The bases of memories
  /// that are unseen are not looked at. Any thread, and several at once whose memories are apart
  /// where they write. What a kernel throws is thrown here; *failed is its number in the group
  /// then, and the results of all kernels are lost.
  void run(char* const* bases, ep::HelperPool* helpers, int* failed) const;

  /// Of a tile, for results that are never in memory, in each thread that runs tiles.
  int buffers() const { return buffers_; }

 private:
  class Run;
  class TileRunner;

  /// An input of which each tile of a kernel has the same (Piecewise::repeated). It is laid out
  /// once for the tiles that a thread takes together, behind the buffers.
  struct Repeated {
    int kernel, operand;
    size_t offset;  // from their end
  };

  void assign_buffers();
  void place_repeated();
  int64_t longest_tile() const;
  int64_t tile_count() const;

  FusionGroup group_;       // unchanged once the plan is made
  size_t buffer_size_ = 0;  // bytes
  int buffers_ = 0;
  std::vector<Repeated> repeated_;
  size_t repeated_bytes_ = 0;
};

}  // namespace ofl::ops
