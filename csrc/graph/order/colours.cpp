#include "graph/order/colours.h"

#include "base/error.h"

namespace ofl::graph {

namespace {

constexpr const char* kOp = "colours";

/// The heaviest path, backwards; of equals the one that starts last and goes on latest.
class HeaviestPath {
 public:
  HeaviestPath(const Integers& weights, const Rows& predecessors) : next_(weights.size(), -1) {
    Integers heaviest(weights.size());  // of the paths that start with an operation
    for (int64_t i = predecessors.count() - 1; i >= 0; --i) {
      heaviest[i] += weights[i];
      if (heaviest[i] > weight) {
        weight = heaviest[i];
        first = i;
      }
      for (const int64_t before : predecessors[i]) {
        if (heaviest[i] <= heaviest[before]) continue;
        heaviest[before] = heaviest[i];
        next_[before] = i;
      }
    }
  }
  int64_t next(int64_t operation) const { return next_[operation]; }

  int64_t weight = 0, first = -1;

 private:
  Integers next_;  // -1: the path ends
};

void check_weights(const Integers& weights) {
  int64_t sum = 0;
  for (const int64_t weight : weights) {
    if (weight < 0) fail(ErrorKind::value, "[", kOp, "] negative weight ", weight);
    if (__builtin_add_overflow(sum, weight, &sum)) {
      fail(ErrorKind::overflow, "[", kOp, "] the weights are too big to be added");
    }
  }
}

}  // namespace

Integers colours(const Integers& weights, const Edges& edges, int64_t most) {
  const int64_t operations = static_cast<int64_t>(weights.size());
  check_weights(weights);
  check_edges(kOp, operations, edges);
  if (most < 1) fail(ErrorKind::value, "[", kOp, "] expected at least 1 colour, got ", most);
  const Rows before = predecessors(operations, edges);
  Integers left = weights, found(operations, -1);
  int64_t colour = 0;
  for (; colour < most - 1; ++colour) {
    const HeaviestPath path(left, before);
    if (path.weight == 0) break;
    for (int64_t i = path.first; i >= 0; i = path.next(i)) {
      if (left[i]) found[i] = colour;
      left[i] = 0;
    }
  }
  for (int64_t& each : found) {
    if (each < 0) each = colour;
  }
  return found;
}

}  // namespace ofl::graph
