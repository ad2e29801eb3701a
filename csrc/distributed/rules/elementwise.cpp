#include "distributed/rules/elementwise.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "base/error.h"

namespace ofl::distributed {

namespace {

using Layouts = std::vector<const Layout*>;

bool is_partial_sum(const Sbp& sbp) { return sbp.is_partial() && sbp.op == PartialOp::sum; }

/// What holds along one axis of the grid.
class AxisRule {
 public:
  AxisRule(ops::Linear linear, const Layouts& operands, const Dims& shape, int axis)
      : linear_(linear), operands_(operands), shape_(shape), axis_(axis) {}

  Sbp result() const {
    if (stays_partial()) return Sbp::partial(PartialOp::sum);
    const int dim = deciding_dim();
    return dim < 0 ? Sbp::broadcast() : Sbp::split(dim);
  }

  /// Of one with a layout.
  Sbp operand(size_t k, const Sbp& result) const {
    if (result.is_partial()) return sbp(k);
    if (result.share == Share::split) {
      const int dim = result.dim - offset(k);
      if (dim >= 0 && is_full(k, dim)) return Sbp::split(dim);
    }
    return Sbp::broadcast();
  }

 private:
  const Sbp& sbp(size_t k) const { return operands_[k]->sbps()[axis_]; }
  /// Of an operand's first dimension in the result.
  int offset(size_t k) const { return shape_.size() - operands_[k]->shape().size(); }
  bool is_full(size_t k, int dim) const {
    return operands_[k]->shape()[dim] == shape_[dim + offset(k)];
  }

  bool stays_partial() const {
    size_t partial = 0, others = 0;
    for (size_t k = 0; k < operands_.size(); ++k) {
      if (operands_[k] && is_partial_sum(sbp(k))) {
        ++partial;
      } else if (!operands_[k] || sbp(k).share == Share::broadcast) {
        ++others;
      }
    }
    if (partial == 0 || partial + others != operands_.size()) return false;
    switch (linear_) {
      case ops::Linear::none: return false;
      case ops::Linear::all: return others == 0;
      case ops::Linear::one: return partial == 1;
      case ops::Linear::first: break;
    }
    // A tensor may have a zero, by which parts would be infinite, of either sign.
    const auto is_tensor = [](const Layout* layout) { return layout != nullptr; };
    return partial == 1 && operands_[0] && is_partial_sum(sbp(0)) &&
           std::none_of(operands_.begin() + 1, operands_.end(), is_tensor);
  }

  /// The dimension of the result along which the largest operand is split; -1: none is.
  int deciding_dim() const {
    int dim = -1;
    int64_t largest = -1;
    for (size_t k = 0; k < operands_.size(); ++k) {
      if (!operands_[k] || sbp(k).share != Share::split || !is_full(k, sbp(k).dim)) continue;
      const int64_t size = element_count(operands_[k]->shape());
      if (size <= largest) continue;
      largest = size;
      dim = sbp(k).dim + offset(k);
    }
    return dim;
  }

  const ops::Linear linear_;
  const Layouts& operands_;
  const Dims& shape_;
  const int axis_;
};

Inferred infer(ops::Linear linear, const Layouts& operands, const char* name) {
  const Placement* placement = nullptr;
  Dims shape;
  for (const Layout* operand : operands) {
    if (!operand) continue;
    shape = placement ? broadcast_shapes(shape, operand->shape(), name) : operand->shape();
    placement = &operand->placement();
  }
  Sbps result;
  std::vector<Sbps> wanted(operands.size());
  for (int axis = 0; axis < placement->grid().size(); ++axis) {
    const AxisRule rule(linear, operands, shape, axis);
    result.push_back(rule.result());
    for (size_t k = 0; k < operands.size(); ++k) {
      if (operands[k]) wanted[k].push_back(rule.operand(k, result.back()));
    }
  }
  Inferred inferred{&Layout::of(shape, *placement, result), {}};
  for (size_t k = 0; k < operands.size(); ++k) {
    const Layout* const operand = operands[k];
    inferred.operands.push_back(operand ? &Layout::of(operand->shape(), *placement, wanted[k])
                                        : nullptr);
  }
  return inferred;
}

}  // namespace

// Layouts stay for good, and so does what is known of them.
const Inferred& infer_elementwise(ops::Linear linear, const Layouts& operands, const char* name) {
  static std::mutex mutex;  // guards the map
  static auto* const known = new std::map<std::pair<ops::Linear, Layouts>, Inferred>();
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = known->find({linear, operands});
  if (found != known->end()) return found->second;
  return known->emplace(std::make_pair(linear, operands), infer(linear, operands, name))
      .first->second;
}

}  // namespace ofl::distributed
