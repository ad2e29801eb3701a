#include "vm/process/shutdown.h"

namespace ofl::vm {

namespace {

/// Waits for everything in flight, and not for what other threads issue meanwhile. Functions that
/// have returned and not completed fail then, as no thread may be left that completes them. They
/// are retired with batons, so without the lock of the layer above: its objects are let go later.
void end_all(DeviceTable& devices, Waiting& waiting) {
  const Error error(ErrorKind::runtime, "had not completed when the process ended");
  const Seq last = waiting.last_issued();
  Seq oldest;
  do {
    waiting.drain_but_pending(last, "shutdown");
    void* token = waiting.hooks().release();
    for (Stream* stream : devices.streams()) stream->policy().abandon_pending(error);
    waiting.hooks().acquire(token);
    oldest = waiting.oldest_in_flight();
  } while (oldest != 0 && oldest <= last);
}

}  // namespace

void shut_down(DeviceTable& devices, Waiting& waiting) {
  struct Naive {
    ~Naive() { options.naive.store(true, std::memory_order_relaxed); }
    Options& options;
  };
  {
    Naive from_here{devices.board().options};
    end_all(devices, waiting);
  }
  end_all(devices, waiting);  // also what other threads issued until they saw the flag
  void* token = waiting.hooks().release();
  for (Stream* stream : devices.streams()) stream->runner().stop();
  waiting.hooks().acquire(token);
}

}  // namespace ofl::vm
