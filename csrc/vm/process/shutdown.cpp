// The end of the process, as the machine sees it.
#include "vm/pool/pool_policy.h"
#include "vm/virtual_machine.h"

namespace ofl::vm {

void VirtualMachine::shutdown() {
  struct Naive {
    ~Naive() { options.naive.store(true, std::memory_order_relaxed); }
    Options& options;
  };
  ending_.store(true, std::memory_order_relaxed);
  {
    Naive from_here{options()};
    end_all();
  }
  end_all();  // also what other threads issued until they saw the flag
  void* token = waiting_.hooks().release();
  for (Stream* stream : devices_.streams()) stream->runner().stop();
  waiting_.hooks().acquire(token);
}

/// Waits for everything in flight, and not for what other threads issue meanwhile. Functions that
/// have returned and not completed fail then, as no thread may be left that completes them.
void VirtualMachine::end_all() {
  const Error error(ErrorKind::runtime, "had not completed when the process ended");
  const Seq last = waiting_.last_issued();
  Seq oldest;
  do {
    waiting_.drain_but_pending(last, "shutdown");
    for (Stream* stream : devices_.streams()) {
      if (stream->is_pool()) static_cast<PoolPolicy&>(stream->policy()).abandon_pending(error);
    }
    oldest = waiting_.oldest_in_flight();
  } while (oldest != 0 && oldest <= last);
}

}  // namespace ofl::vm
