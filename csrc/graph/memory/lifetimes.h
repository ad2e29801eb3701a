// When the memory of each class of values is in use.
#pragma once

#include "graph/order/lanes.h"

namespace ofl::graph {

/// What memory is planned for. `lanes` has the lane of each operation; empty: all in one.
struct MemoryNeeds {
  Integers sizes;    // the bytes of each class of values
  Rows users;        // the operations that use each class
  Integers results;  // the classes that are handed out: they have memory of their own
  int64_t alignment = 64;
  Integers lanes;
  Edges edges;
};

class Lifetimes {
 public:
  /// Error of "[op] ..." for what cannot be; for a class, one use of which does not come after the
  /// first one; for sizes that are too big to be added.
  Lifetimes(const char* op, const MemoryNeeds& needs);

  int64_t count() const { return static_cast<int64_t>(sizes_.size()); }
  int64_t operations() const { return clocks_.operations(); }
  const LaneClocks& clocks() const { return clocks_; }
  /// The classes that are used: those that memory is planned for, and those that have their own.
  const Integers& temporaries() const { return temporaries_; }
  const Integers& results() const { return results_; }

  /// Bytes as given, and rounded up to the alignment.
  int64_t bytes(int64_t item) const { return bytes_[item]; }
  int64_t size(int64_t item) const { return sizes_[item]; }
  /// The first and the last operation that use it; -1: none.
  int64_t first(int64_t item) const { return first_[item]; }
  int64_t last(int64_t item) const { return last_[item]; }
  int64_t length(int64_t item) const { return last_[item] - first_[item] + 1; }
  /// The first operation of a lane that runs after all uses; operations(): none.
  int64_t released(int64_t item, int64_t lane) const {
    return released_[item * clocks_.lanes() + lane];
  }
  /// One is over, on all lanes, when the other begins.
  bool ends_before(int64_t item, int64_t other) const {
    return released(item, clocks_.lane(first_[other])) <= first_[other];
  }
  bool conflict(int64_t item, int64_t other) const {
    return first_[item] <= first_[other] ? !ends_before(item, other) : !ends_before(other, item);
  }

  /// The largest sum of the temporaries' bytes that are in use at a time, less what of them may be
  /// in the memory of results.
  int64_t lower_bound() const;

 private:
  void read_users(const char* op, const MemoryNeeds& needs);
  void release(int64_t item, const Rows::Row& users);
  std::vector<bool> fit_results() const;

  LaneClocks clocks_;
  Integers bytes_, sizes_, first_, last_, temporaries_, results_;
  std::vector<int32_t> released_;  // [item][lane]
};

}  // namespace ofl::graph
