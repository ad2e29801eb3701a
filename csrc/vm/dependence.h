// Dependence: who wrote one object last, and who has read it since. The hazard rule of the machine:
//   a read waits for the last write; a write waits for the last write and for all reads since.
// Two reads are never ordered against each other.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/device.h"
#include "base/error.h"
#include "base/small_vector.h"

namespace ofl::vm {

/// Names an instruction; grows in issue order. 0 names none. An instruction whose slot in the
/// window has moved on is finished, so a name never dangles.
using Seq = uint64_t;
inline constexpr Seq kNoneAwaited = ~Seq{0};

/// Where an instruction was issued; an index into a table of the layer above. 0: unknown.
using SiteId = uint32_t;

/// Why an instruction failed. Immutable and shared by everything it poisons.
struct Failure {
  ErrorKind kind;
  std::string message;
  std::string op;
  SiteId site;
  Seq seq;  // only what was issued later is affected
  Device device;
  std::shared_ptr<void> payload;
};
using FailurePtr = std::shared_ptr<const Failure>;

/// The exception that a look at a poisoned object throws.
class OperationError : public Error {
 public:
  explicit OperationError(const Failure& failure)
      : Error(failure.kind, failure.message, failure.payload), op(failure.op), site(failure.site) {}

  const std::string op;
  const SiteId site;
};

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

  /// False when no living object is poisoned, so that nobody needs to look at each. A relaxed read:
  /// who runs after a failed instruction is ordered after its poison by the release of its
  /// successors.
  static bool any_poisoned() { return poisoned_objects_.load(std::memory_order_relaxed) > 0; }

  /// The value that instruction `since` writes is `failure`. Any thread, in any order: what was
  /// issued before `since` still sees a sound value.
  void poison(const FailurePtr& failure, Seq since);

  /// While it is shared, somebody outside the machine sees the object, too: an instruction on it
  /// has retired when issue() returns. Counted. Any thread; who then waits for access (below the
  /// issue mutex) has waited for everything that did not see it shared.
  void share() { sharers_.fetch_add(1, std::memory_order_relaxed); }
  void unshare() { sharers_.fetch_sub(1, std::memory_order_relaxed); }
  bool shared() const { return sharers_.load(std::memory_order_relaxed) > 0; }

  /// Objects over the same memory are joined to one that stands for all of them (Window::join):
  /// an access to one of them is an access to each, and so is a failure. True: there is no other.
  bool is_alone() const { return joint().joined_.load(std::memory_order_acquire) <= 1; }
  /// There is no other, and no failure.
  bool is_alone_and_sound() const {
    const Dependence& object = joint();
    return object.joined_.load(std::memory_order_acquire) <= 1 &&
           !object.poisoned_.load(std::memory_order_acquire);
  }

 private:
  friend class SharedRanges;
  friend class VirtualMachine;
  friend class Window;

  struct Poison {
    Seq since;
    FailurePtr failure;
  };

  FailurePtr find_failure(Seq reader) const;
  void add_poison(const Poison& poison);
  void join(Dependence& to);

  /// What stands for this object; itself unless it is joined to another.
  const Dependence& joint() const {
    const Dependence* object = this;
    while (const Dependence* next = object->joint_.load(std::memory_order_acquire)) object = next;
    return *object;
  }
  Dependence& joint() { return const_cast<Dependence&>(std::as_const(*this).joint()); }

  // Written with the mutex of the shared ranges.
  std::atomic<Dependence*> joint_{nullptr};  // outlives this object's last use
  std::atomic<int32_t> joined_{0};           // objects that this one stands for

  // Guarded by the window's issue mutex; of the joint.
  Seq last_write_ = 0;
  SmallVector<Seq, 2> reads_;  // since last_write_

  std::atomic<int32_t> sharers_{0};
  std::atomic<bool> poisoned_{false};  // release-stored after poisons_; false: it is empty
  std::vector<Poison> poisons_;        // guarded by a mutex in dependence.cpp
  static std::atomic<int64_t> poisoned_objects_;
};

}  // namespace ofl::vm
