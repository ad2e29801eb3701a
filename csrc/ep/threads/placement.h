// Placement: keeps a thread that is woken off its waker's core.
//
// A kernel may wake it there though another core is idle (Linux as a guest takes a core that has
// been idle for some time for one that the host has taken away), and if the waker then computes,
// who was woken to help waits behind it for milliseconds.
#pragma once

#include <sched.h>

namespace ofl::ep {

/// Of one thread that sleeps and is woken. Both sides hold the mutex of its sleep.
class Placement {
 public:
  /// The thread, before it sleeps.
  void asleep();
  /// Its waker: the thread wakes on another core than this one, where it may.
  void elsewhere();
  /// The thread, after its sleep: it may run where it could before.
  void awake();

 private:
#if defined(__linux__)
  pid_t thread_ = 0;
  bool limited_ = false;  // to all of `allowed_` but one
  cpu_set_t allowed_;
#endif
};

}  // namespace ofl::ep
