// The uses of each class of values, by lane.
#pragma once

#include "graph/memory/values.h"
#include "graph/order/lanes.h"

namespace ofl::graph {

class Uses {
 public:
  Uses(const Accesses& accesses, const Integers& classes, const LaneClocks& clocks);

  /// The first operation that uses a class; operations(): none.
  int64_t first(int64_t memory) const { return first_[memory]; }
  /// How many operations use a class.
  int64_t count(int64_t memory) const { return keys_[memory].size(); }
  /// The last operation of a lane that uses the class and is before `operation`; -1: none.
  int64_t last_before(int64_t memory, int64_t lane, int64_t operation) const;
  /// The last operation of a lane that uses the class; -1: none.
  int64_t last(int64_t memory, int64_t lane) const {
    return last_before(memory, lane, operations_);
  }

 private:
  int64_t operations_;
  Integers first_;
  Rows keys_;  // of each class: lane * operations_ + operation
};

}  // namespace ofl::graph
