// PoolPolicy: a stream of the host whose functions may run at once, on the threads of a Pool. The
// baton guards the list of ready functions and their retirement, and no function runs with it.
//
//   with the baton: take ──► without it: run ──► with it: retire, take the next one
//
// So a thread that forks finds every baton free. A function that waits runs, in its own thread,
// ready functions of any pool that it waits for.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "vm/pool/pending.h"
#include "vm/pool/pool.h"
#include "vm/stream.h"

namespace ofl::vm {

/// Its functions are called without the baton.
class PoolPolicy final : public StreamPolicy {
 public:
  explicit PoolPolicy(Stream& stream) : stream_(stream) {}

  /// In a thread of the pool: runs functions until none is ready.
  bool run_next(const Turn& turn) override;
  /// In the calling thread: a function that is in no list.
  void run(Slot* slot) override;
  /// In the calling thread: one that may be ready; false: it is not, or another thread has it.
  bool run_if_ready(Slot* slot, Seq seq);
  /// In the calling thread: all that are ready.
  void run_ready_here();
  /// Those that have returned and not completed fail.
  void abandon_pending(const Error& error) override;
  Pool& pool() { return static_cast<Pool&>(stream_.runner()); }

  bool poll(bool) override { return false; }
  bool busy() const override { return false; }
  void drain() override {}
  Counters counters() const override { return {}; }
  void end_lost(Slot* slot) override;

 private:
  using Baton = std::unique_lock<std::mutex>;

  void run_taken(Slot* slot, Baton& baton, bool in_pool);
  void end_call(Slot* slot, FailurePtr failure);
  void complete(Slot* slot, const std::optional<Error>& error);
  void note_pending(const std::shared_ptr<Pending>& pending);

  Stream& stream_;
  std::vector<std::weak_ptr<Pending>> pending_;  // with the baton; some have completed
};

}  // namespace ofl::vm
