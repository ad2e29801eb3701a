#include "ops/reduce/divided_sum.h"

#include <algorithm>
#include <cstring>

#include "ops/reduce/runner.h"

namespace ofl::ops {

namespace {

/// Leaves of the pairwise summation tree, from the left.
void pairwise_leaves(int64_t components, int64_t most, SmallVector<int64_t, 16>* leaves) {
  if (components <= most) return leaves->push_back(components);
  const int64_t half = components / 2 - components / 2 % 8;
  pairwise_leaves(half, most, leaves);
  pairwise_leaves(components - half, most, leaves);
}

}  // namespace

// float16 adds in float32 inside its loop: partial sums would be rounded once more.
bool DividedSum::accepts(const LoopArgs& args, const ReducePlan& plan) {
  const DType dtype = args.resolution->out;
  return args.op->adds && args.attr[0] == 1 && dtype != DType::f16 && dtype != DType::b1 &&
         plan.rows.ndim == 1 && plan.out_count == 1 && plan.in_step != 0;
}

DividedSum::DividedSum(const LoopArgs& args, const ReducePlan& plan, int64_t leaf_components)
    : args_(args),
      plan_(plan),
      components_(info(args.resolution->out).kind == DTypeKind::complex ? 2 : 1),
      leaf_components_(leaf_components) {
  const int64_t dim = plan.rows.rows[0].dim;
  if (plan.buffered) {
    for (int64_t i = 0; i < dim; i += plan.chunk_cores) {
      counts_.push_back(std::min(plan.chunk_cores, dim - i));
    }
  } else {
    pairwise_leaves(dim * components_, leaf_components, &counts_);
    for (int64_t& count : counts_) count /= components_;
  }
  starts_.push_back(0);
  for (int64_t count : counts_) starts_.push_back(starts_.back() + count);
}

void DividedSum::sum_leaf(int leaf, char* in, Scalar* sum) const {
  LoopArgs piece = args_;
  ReducePlan part = plan_;
  part.rows.rows[0].dim = counts_[leaf];
  piece.data[kReduceIn] = in;
  char* to = reinterpret_cast<char*>(sum);
  write_negative_zero(to);
  ReduceRunner(piece, part, to, false).run();
}

void DividedSum::finish(char* out, Scalar* sums) const {
  if (!plan_.buffered) {
    Scalar* leaf = sums;
    return add(out, fold(plan_.rows.rows[0].dim * components_, &leaf));
  }
  for (int leaf = 0; leaf < counts_.size(); ++leaf) add(out, &sums[leaf]);
}

void DividedSum::write_negative_zero(char* to) const {
  if (is_integer(args_.resolution->out)) return;  // already 0
  const bool is_double = size_of(args_.resolution->out) / components_ == sizeof(double);
  for (int i = 0; i < components_; ++i) {
    if (is_double) {
      reinterpret_cast<double*>(to)[i] = -0.0;
    } else {
      reinterpret_cast<float*>(to)[i] = -0.0F;
    }
  }
}

/// The sum of a subtree, left in the place of its first leaf.
Scalar* DividedSum::fold(int64_t components, Scalar** leaf) const {
  if (components <= leaf_components_) return (*leaf)++;
  const int64_t half = components / 2 - components / 2 % 8;
  Scalar* left = fold(half, leaf);
  add(reinterpret_cast<char*>(left), fold(components - half, leaf));
  return left;
}

void DividedSum::add(char* to, Scalar* value) const {
  Scalar sum;
  char* data[] = {to, reinterpret_cast<char*>(value), reinterpret_cast<char*>(&sum)};
  const auto size = static_cast<intptr_t>(size_of(args_.resolution->out));
  const intptr_t steps[] = {size, size, size};
  const intptr_t one = 1;
  args_.resolution->loop(data, &one, steps, args_.resolution->data);
  std::memcpy(to, sum.bytes, size);
}

}  // namespace ofl::ops
