// A reduction that takes its input tile by tile, from whoever makes it, with the bits of
// reduce_kernel. It is a plan without addresses: several runs may use it at once.
#pragma once

#include <memory>
#include <optional>

#include "ops/reduce/divided_sum.h"

namespace ofl::ops {

/// Tiles are whole steps of the outermost row, where that is kept (each output then has all its
/// elements in one tile), or the leaves of one sum. Of a sum, `sums` are those of one run's leaves.
class TiledReduction {
 public:
  /// nullptr where neither leaves every bit, or the input is not one row of elements. `args`
  /// outlive it. `leaf_components`: most of them in a tile that is a leaf.
  static std::unique_ptr<const TiledReduction> make(const LoopArgs& args, int64_t leaf_components);

  /// Of one sum; else null, and tiles start at multiples of unit() elements.
  const DividedSum* sum() const { return sum_ ? &*sum_ : nullptr; }
  int64_t unit() const { return unit_; }
  /// Elements in a step of the outermost row.
  int64_t step() const { return step_; }

  /// Takes tile number `tile`: `count` elements that lie at `in`. Rows are reduced to `out`, where
  /// their results belong. Any thread.
  void take(int tile, int64_t count, char* in, char* out, Scalar* sums) const;
  /// All tiles have been taken: writes the one sum.
  void finish(char* out, Scalar* sums) const;

 private:
  TiledReduction(const LoopArgs& args, const ReducePlan& plan) : args_(args), plan_(plan) {}

  const LoopArgs& args_;
  const ReducePlan plan_;
  std::optional<DividedSum> sum_;
  int64_t step_ = 1, unit_ = 1;
};

}  // namespace ofl::ops
