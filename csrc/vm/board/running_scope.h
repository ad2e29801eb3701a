// RunningScope: the instruction of a host stream that the calling thread runs. A function may issue
// and look; it must not wait for itself.
#pragma once

#include "vm/instruction.h"

namespace ofl::vm {

/// While it lives, the calling thread runs this instruction. A function that waits may run another
/// one inside, so scopes nest.
class RunningScope {
 public:
  explicit RunningScope(Slot& slot) : slot_(slot), seq_(slot.name()), outer_(innermost_) {
    innermost_ = this;
  }
  ~RunningScope() { innermost_ = outer_; }
  RunningScope(const RunningScope&) = delete;

  static bool any() { return innermost_ != nullptr; }
  /// There is one, and it is not inside of another one.
  static bool is_single() { return innermost_ && !innermost_->outer_; }
  static bool contains(Seq seq) {
    for (const RunningScope* scope = innermost_; scope; scope = scope->outer_) {
      if (scope->seq_ == seq) return true;
    }
    return false;
  }
  /// One of them is an instruction of which this holds.
  template <typename Is>
  static bool any_of(const Is& is) {
    for (const RunningScope* scope = innermost_; scope; scope = scope->outer_) {
      if (is(scope->slot_)) return true;
    }
    return false;
  }
  /// In the child of a fork inside of one: its thread is like any other there.
  static void forget() { innermost_ = nullptr; }
  /// The innermost instruction; there is one.
  static Slot& slot() { return innermost_->slot_; }

 private:
  static inline thread_local RunningScope* innermost_ = nullptr;
  Slot& slot_;
  const Seq seq_;
  RunningScope* const outer_;
};

}  // namespace ofl::vm
