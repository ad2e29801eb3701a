// Dependence: the last write of one object, and its reads since. The hazard rule of the machine:
//   a read waits for the last write; a write waits for the last write and for all reads since.
// Two reads are never ordered against each other.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/small_vector.h"
#include "vm/failure/failure.h"

namespace ofl::vm {

class Dependence {
 public:
  Dependence() = default;
  ~Dependence() {
    if (poisoned_.load(std::memory_order_acquire)) poisoned_objects_.fetch_sub(1);
  }
  Dependence(const Dependence&) = delete;
  Dependence& operator=(const Dependence&) = delete;

  /// The earliest failure that an instruction named `reader` must heed, or null. A look from the
  /// host passes the default. Any thread.
  FailurePtr failure(Seq reader = ~Seq{0}) const {
    const Dependence& object = joint();
    return object.poisoned_.load(std::memory_order_acquire) ? object.find_failure(reader) : nullptr;
  }

  /// False when no living object is poisoned, so that no thread needs to look at each. A relaxed
  /// read is enough: the release of successors orders the poison before everything that runs later.
  static bool any_poisoned() { return poisoned_objects_.load(std::memory_order_relaxed) > 0; }

  /// The value that instruction `since` writes is `failure`. Any thread, in any order: an
  /// instruction that was issued before `since` still sees a sound value.
  void poison(const FailurePtr& failure, Seq since);
  /// Instruction `since`, which writes the object, makes it sound again.
  void forgive(Seq since);

  /// While it is shared, code outside the machine sees the object, too: an instruction on it has
  /// retired when issue() returns, unless it calls out (InstructionType). Counted. Any thread. A
  /// thread that shares it and then waits for access has waited for everything that was issued
  /// before it was shared.
  void share() { sharers_.fetch_add(1, std::memory_order_relaxed); }
  void unshare() { sharers_.fetch_sub(1, std::memory_order_relaxed); }
  bool shared() const { return sharers_.load(std::memory_order_relaxed) > 0; }

  /// Objects over the same memory are joined to one that represents all of them (Window::join): an
  /// access to one of them is an access to each, and so is a failure. True: there is no other.
  bool is_alone() const { return joint().joined_.load(std::memory_order_acquire) <= 1; }
  /// There is no other, and no failure.
  bool is_alone_and_sound() const {
    const Dependence& object = joint();
    return object.joined_.load(std::memory_order_acquire) <= 1 &&
           !object.poisoned_.load(std::memory_order_acquire);
  }

 private:
  friend class SharedRanges;
  friend class Window;

  struct Poison {
    Seq since;
    FailurePtr failure;
  };

  FailurePtr find_failure(Seq reader) const;
  void add_poison(const Poison& poison);
  void join(Dependence& to);

  /// The object that represents this one; itself unless it is joined to another.
  const Dependence& joint() const {
    const Dependence* object = this;
    while (const Dependence* next = object->joint_.load(std::memory_order_acquire)) object = next;
    return *object;
  }
  Dependence& joint() { return const_cast<Dependence&>(std::as_const(*this).joint()); }

  // Written with the mutex of the shared ranges.
  std::atomic<Dependence*> joint_{nullptr};  // outlives this object's last use
  std::atomic<int32_t> joined_{0};           // objects that this one represents

  // Guarded by the window's issue mutex; of the joint.
  Seq last_write_ = 0;
  SmallVector<Seq, 2> reads_;  // since last_write_

  std::atomic<int32_t> sharers_{0};
  std::atomic<bool> poisoned_{false};  // release-stored after poisons_; false: it is empty
  std::vector<Poison> poisons_;        // guarded by a mutex in dependence.cpp
  static std::atomic<int64_t> poisoned_objects_;
};

}  // namespace ofl::vm
