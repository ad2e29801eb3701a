// The observers of the profiler, as a fork sees them.
#pragma once

namespace ofl::python {

/// By the thread that forks: their locks are held across the fork. A worker that is in a function
/// may be telling them of it.
void lock_observers();
void unlock_observers();

}  // namespace ofl::python
