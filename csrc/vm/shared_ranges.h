// Memory that others see, too: which objects of the machine lie over the same addresses. What
// overlaps has one order, whoever has made it.
//
//   ranges that hang together ──► group ──► order: a Dependence that stands for all their objects
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "vm/dependence.h"

namespace ofl::vm {

class VirtualMachine;

class SharedRanges {
 public:
  explicit SharedRanges(VirtualMachine& machine) : machine_(machine) {}

  /// Taken before the issue mutex; its holder never blocks.
  std::mutex& mutex() { return mutex_; }

 private:
  friend class SharedRange;

  struct Order {
    Dependence object;
    std::shared_ptr<Order> joined;  // what stands for it in turn
  };
  /// Its bounds are those of all ranges that it has had: what was in one allocation stays there as
  /// long as one of them lives.
  struct Group {
    uintptr_t end;
    int ranges;
    std::shared_ptr<Order> order;
  };
  using Groups = std::map<uintptr_t, Group>;  // by where they begin; they do not overlap

  std::shared_ptr<Order> enter(Dependence& object, uintptr_t begin, uintptr_t end);
  void leave(Order& order, uintptr_t begin);
  std::shared_ptr<Dependence> try_to_enter(Dependence& object, uintptr_t begin, uintptr_t end,
                                           std::shared_ptr<Order>* order);
  Groups::iterator find(uintptr_t address);

  VirtualMachine& machine_;
  std::mutex mutex_;  // guards the rest
  Groups groups_;
};

/// The range of an object, which it outlives.
class SharedRange {
 public:
  /// From here on the object is ordered with all others that have a range in [begin, begin +
  /// bytes), which is not empty. Waits only where it is the first one to lie over several, for what
  /// is in flight on them. Throws what wait_for_access() does.
  SharedRange(VirtualMachine& machine, Dependence& object, const void* begin, size_t bytes);
  ~SharedRange() { leave(); }
  SharedRange(const SharedRange&) = delete;
  SharedRange& operator=(const SharedRange&) = delete;

  /// Before the memory goes: what comes to these addresses later is something else. What the object
  /// is used by has run, or is ordered otherwise. Any thread.
  void leave();

 private:
  SharedRanges& home_;
  const uintptr_t begin_;
  bool entered_ = false;
  std::shared_ptr<SharedRanges::Order> order_;
};

}  // namespace ofl::vm
