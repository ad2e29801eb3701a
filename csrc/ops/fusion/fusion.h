// Fusion: several elementwise kernels over one iteration space, run tile by tile by the loops that
// would run them one after the other, with the same bits. Reductions of whole rows may be among
// them, and kernels over what they give; then tiles are whole rows. One sum of all may be the last.
//
//   memory ──► kernel 1 ──► tile buffer ──► kernel 2 ──► memory      for each tile, on any thread;
//                 └───────────────────────► kernel 3 ──► ...         a tile stays in the cache
//
// What a kernel reads is what the ones before it have written in the same tile: add() takes only
// kernels for which that is program order.
//
// A group grows kernel by kernel, without addresses. A plan is made of it once (plan.h), and runs
// any number of times.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "ops/fusion/space.h"
#include "ops/pieces.h"
#include "ops/reduce/tiles.h"

namespace ofl::ops {

class FusionGroup : public FusionSpace {
 public:
  static constexpr int kMaxKernels = 64;

  /// Takes a kernel to run with the ones before, after them; false: it must run by itself, and
  /// nothing has changed. args.data and `bases` are those of a KernelCall: offsets, and the number
  /// of each operand's base (-1: a scalar). `args` outlive the group and its plan.
  bool add(const LoopArgs& args, const int16_t* bases);
  /// Nothing can be added any more.
  bool full() const { return sum() || size() == kMaxKernels; }

  int size() const { return static_cast<int>(kernels_.size()); }

 private:
  friend class FusionPlan;

  /// A kernel of the group; its scale is 1, or a row that is reduced. Tiles cut row `cut` of its
  /// iteration, whose steps have `inner` elements: the plan sets both.
  struct Member {
    const LoopArgs* args = nullptr;
    Piecewise whole;                                  // elementwise
    std::unique_ptr<const TiledReduction> reduction;  // or this
    int memory[kMaxOperands];                         // number; -1: a scalar
    int64_t scale = 1;
    int cut = 0;
    int64_t inner = 1;
    // Set by the plan. Each tile is one call of the loop: on operands as they lie in memory, or,
    // beside repeated inputs, with these steps between elements.
    bool is_call = false;
    bool is_call_beside_repeated = false;
    intptr_t steps[kMaxOperands] = {};
  };

  /// Tiles of `size` elements, `per_run` of them in each run of `run` elements.
  struct Tiling {
    int64_t unit = 0;  // elements in a step of what is cut
    int64_t size = 0, run = 0, per_run = 0;
  };

  struct Draft;

  bool scale_elements(const LoopArgs& args, Draft* draft) const;
  bool make_reduction(Draft* draft) const;
  bool choose_tiling(const Draft& draft, Tiling* tiling) const;
  static int64_t wanted_tile(const Draft& draft);
  static int64_t steps_of_tile(const Draft& draft, int64_t multiple, int64_t unit, int64_t run);
  static std::pair<int, int64_t> row_of(const Member& kernel, int64_t unit);
  void take(Draft&& draft, const int16_t* bases);

  /// The last kernel, where it is one sum of all elements.
  const TiledReduction* sum() const {
    const TiledReduction* last = kernels_.empty() ? nullptr : kernels_.back().reduction.get();
    return last && last->sum() ? last : nullptr;
  }

  std::vector<Member> kernels_;
  int64_t multiple_ = 1;   // that tiles start at
  int64_t alignment_ = 1;  // the same, for the bits of some kernels
  int64_t item_size_ = 1;  // of the largest elements
  Tiling tiling_;
};

}  // namespace ofl::ops
