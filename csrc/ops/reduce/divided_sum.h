// One sum of everything, divided where that leaves every bit. It is const: the sums of the leaves
// belong to a run.
#pragma once

#include <algorithm>

#include "base/small_vector.h"
#include "ops/reduce/plan.h"

namespace ofl::ops {

/// Components in a leaf that is worth a helper's while.
inline constexpr int64_t kLeafComponents = 65536;

/// The loop calls of a sum in one row (or the leaves of the only one) by themselves, each starting
/// with -0, which changes nothing it is added to; then their results in NumPy's order.
///
/// NumPy halves what it sums until 128 components are left
/// (numpy/_core/src/umath/loops_utils.h.src), and so does this until a leaf has `leaf_components`
/// at most; the loop itself goes on from there.
class DividedSum {
 public:
  static bool accepts(const LoopArgs& args, const ReducePlan& plan);

  /// `args` outlive it.
  DividedSum(const LoopArgs& args, const ReducePlan& plan, int64_t leaf_components);

  int leaves() const { return counts_.size(); }
  int64_t start(int leaf) const { return starts_[leaf]; }  // in elements
  int64_t count(int leaf) const { return counts_[leaf]; }
  int64_t longest() const { return *std::max_element(counts_.begin(), counts_.end()); }

  /// Sums a leaf, whose first element is at `in`, into a new Scalar. Any thread.
  void sum_leaf(int leaf, char* in, Scalar* sum) const;
  /// Adds the sums of all leaves to `out`; they change.
  void finish(char* out, Scalar* sums) const;

 private:
  void write_negative_zero(char* to) const;
  Scalar* fold(int64_t components, Scalar** leaf) const;
  void add(char* to, Scalar* value) const;

  const LoopArgs& args_;
  const ReducePlan plan_;
  const int components_;  // of an element
  const int64_t leaf_components_;
  SmallVector<int64_t, 16> counts_, starts_;  // of the leaves, in elements
};

}  // namespace ofl::ops
