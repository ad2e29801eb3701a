// Sbp: how the ranks along one axis of a grid hold a tensor.
#pragma once

#include <cstdint>
#include <string>

namespace ofl::distributed {

enum class Share : uint8_t {
  split,      // each has a part along one dimension of the tensor
  broadcast,  // each has all of it
  partial,    // each has something of its shape; an operator over these gives it
};

enum class PartialOp : uint8_t { sum, prod, max, min, any, all };
inline constexpr const char* kPartialOpNames[] = {"sum", "prod", "max", "min", "any", "all"};
inline constexpr int kPartialOps = sizeof(kPartialOpNames) / sizeof(kPartialOpNames[0]);

struct Sbp {
  Share share = Share::broadcast;
  PartialOp op = PartialOp::sum;  // of partial ones
  int32_t dim = 0;                // of split ones: of the tensor

  static Sbp split(int dim) { return {Share::split, PartialOp::sum, dim}; }
  static Sbp broadcast() { return {}; }
  static Sbp partial(PartialOp op) { return {Share::partial, op, 0}; }

  bool splits(int d) const { return share == Share::split && dim == d; }
  bool is_partial() const { return share == Share::partial; }
  bool operator==(const Sbp& other) const {
    return share == other.share && op == other.op && dim == other.dim;
  }
  bool operator!=(const Sbp& other) const { return !(*this == other); }

  /// "split(0)", "broadcast", "partial(sum)".
  std::string str() const {
    if (share == Share::split) return "split(" + std::to_string(dim) + ")";
    if (share == Share::broadcast) return "broadcast";
    return std::string("partial(") + kPartialOpNames[static_cast<int>(op)] + ")";
  }
};

}  // namespace ofl::distributed
