// SharedRanges: which objects of the machine use memory that code outside it sees, too, and which
// of them overlap. Objects that overlap have one order, whichever code made them.
//
//   ranges that overlap ──► cluster ──► order: a Dependence that represents all their objects
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "vm/waiting/waiting.h"

namespace ofl::vm {

class SharedRanges {
 public:
  SharedRanges(Window& window, Waiting& waiting) : window_(window), waiting_(waiting) {}

  /// Taken before the issue mutex; its holder never blocks.
  std::mutex& mutex() { return mutex_; }

 private:
  friend class SharedRange;

  struct Order {
    Dependence object;
    std::shared_ptr<Order> joined;  // the one that represents it in turn
  };
  /// Its bounds are those of all ranges that it has had: ranges of one allocation stay in one
  /// cluster as long as one of them lives.
  struct Cluster {
    uintptr_t end;
    int ranges;
    std::shared_ptr<Order> order;
  };
  using Clusters = std::map<uintptr_t, Cluster>;  // by their first address; they do not overlap

  std::shared_ptr<Order> enter(Dependence& object, uintptr_t begin, uintptr_t end);
  void leave(Order& order, uintptr_t begin);
  std::shared_ptr<Dependence> try_to_enter(Dependence& object, uintptr_t begin, uintptr_t end,
                                           std::shared_ptr<Order>* order);
  bool join(Dependence& object, Dependence& to);
  Clusters::iterator find(uintptr_t address);

  Window& window_;
  Waiting& waiting_;
  std::mutex mutex_;  // guards the rest
  Clusters clusters_;
};

/// The range of an object, which it outlives.
class SharedRange {
 public:
  /// From here on the object is ordered with all others that have a range in [begin, begin +
  /// bytes), which is not empty. Waits only if it is the first one to overlap several of them, for
  /// the instructions in flight on them. Throws what Waiting::wait_for_access() does.
  SharedRange(SharedRanges& home, Dependence& object, const void* begin, size_t bytes);
  ~SharedRange() { leave(); }
  SharedRange(const SharedRange&) = delete;
  SharedRange& operator=(const SharedRange&) = delete;

  /// Before the memory goes, as other memory may come to these addresses later. The instructions
  /// that use the object have run, or are ordered otherwise. Any thread.
  void leave();

 private:
  SharedRanges& home_;
  const uintptr_t begin_;
  bool entered_ = false;
  std::shared_ptr<SharedRanges::Order> order_;
};

}  // namespace ofl::vm
