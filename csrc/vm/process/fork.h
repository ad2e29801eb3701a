// Fork: the machine before, during and after a fork of the process. The child has the forking
// thread only, and memory as it was at that moment. So the machine is brought to rest before the
// fork, its locks are held across it, and the child gets new threads.
//
// A function that another thread is in the middle of cannot be waited for: it may need the
// interpreter's lock, which the forking thread holds, or it may complete later. It stays in flight.
// In the parent it goes on; in the child it has failed, and so have the functions behind it.
#pragma once

#include "vm/process/shared_ranges.h"
#include "vm/waiting/waiting.h"

namespace ofl::vm {

/// By the forking thread.
class Fork {
 public:
  Fork(DeviceTable& devices, Waiting& waiting, SharedRanges& shared_ranges)
      : devices_(devices),
        board_(devices.board()),
        window_(devices.window()),
        waiting_(waiting),
        shared_ranges_(shared_ranges) {}

  /// Brings the machine to rest and holds every lock across the fork, so that the child finds them
  /// consistent. Until it returns the caller keeps other threads from issuing. The other functions
  /// do nothing unless this one has returned.
  void before();
  void after_in_parent();
  void after_in_child();
  /// In the child, once instructions may be let go: functions that were in flight at the fork fail
  /// here.
  void fail_lost_functions();

 private:
  void settle();
  bool calls_out();
  void lock_batons(bool of_pools);
  void unlock_batons(bool of_pools);
  void lock();
  void unlock();

  DeviceTable& devices_;
  Board& board_;
  Window& window_;
  Waiting& waiting_;
  SharedRanges& shared_ranges_;
  bool prepared_ = false;
};

}  // namespace ofl::vm
