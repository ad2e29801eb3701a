// InlineScope: small work stays home.
#pragma once

#include <mutex>

#include "vm/window.h"

namespace ofl::vm {

/// While it is alive and true, the calling thread may do the work of an instruction with these
/// operands itself, at once. Holds the issue mutex, so keep it to microseconds.
class InlineScope {
 public:
  InlineScope(Window& window, const Operand* operands, int count)
      : window_(window), lock_(window.issue_mutex()) {
    if (window.in_flight(window.barrier) || !window.ready(operands, count)) lock_.unlock();
  }
  ~InlineScope() {
    if (lock_.owns_lock()) ++window_.inlined;
  }
  explicit operator bool() const { return lock_.owns_lock(); }
  /// The work was not done here after all.
  void decline() { lock_.unlock(); }
  /// The name that a failure of this work carries: everything issued later comes after it.
  Seq take_seq() { return window_.pass_over(); }

 private:
  Window& window_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace ofl::vm
