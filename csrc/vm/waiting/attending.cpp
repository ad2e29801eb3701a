// Collectives of ranks that are processes, which the thread that issues them, or waits for them,
// sees to itself: it does the worker's part, with the worker's baton.
//
//   the thread:  [issue: post, look, look, done][read]           seen to by itself
//   the thread:  [issue]                 [wait][ woken ][read]   handed over
//   the worker:         [ woken ][post, look, look, done]
//
// It never waits for another rank: when its time is over the worker takes over, which it wakes. So
// ranks wait for each other as they do without it.
#include <mutex>
#include <thread>

#include "base/pause.h"
#include "vm/progress/partner.h"
#include "vm/waiting/waiting.h"

namespace ofl::vm {

namespace {

/// While others may be late: so many looks, which take the thread about 200 us. Between two of them
/// it leaves the core to others, which may be the ranks that are late.
constexpr int kLooks = 400;
/// Meanwhile the thread does not answer Ctrl-C.
constexpr int64_t kLongestNs = 10'000'000;
/// While bytes move, and the thread has something else to do.
constexpr int64_t kMovingNs = 500'000;
/// A worker that is awake looks for work all the time, and has its baton for a moment.
constexpr int kTries = 50;

std::unique_lock<std::mutex> try_to_lock(std::mutex& mutex) {
  std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
  for (int i = 0; i < kTries && !lock; ++i) {
    pause_briefly();
    static_cast<void>(lock.try_lock());
  }
  return lock;
}

}  // namespace

/// Until `seq` has retired, nothing of the stream is in flight, or the time is over.
void Waiting::see_to(Stream& stream, Seq seq, int64_t moving_ns) {
  const int64_t begin = now_ns();
  bool is_left = true;
  {
    const std::unique_lock<std::mutex> baton = try_to_lock(stream.baton());
    for (int look = 0; baton; ++look) {
      stream.run_ready(false);
      stream.retire_finished(false);
      is_left = stream.has_ready() || stream.busy();
      if (!is_left || !window_.in_flight(seq)) break;
      const bool moves = stream.moves();
      if (now_ns() - begin > (moves ? moving_ns : kLongestNs) || (!moves && look > kLooks)) break;
      std::this_thread::yield();
    }
  }
  if (is_left) stream.runner().wake();
}

void Waiting::attend(Stream& stream, Seq seq) {
  PacedCall call;
  call.note();
  const int64_t begin = now_ns();
  void* token = hooks_->release();
  see_to(stream, seq, kMovingNs);
  hooks_->acquire(token);
  small_work_.looks().note_attended(now_ns() - begin);
}

/// The instruction that the thread waits for may depend on collectives in flight.
bool Waiting::help_with_collectives(Seq seq) {
  Stream* const stream = devices_.state(Device{}).find(StreamType::ccl);
  if (!stream || Partner::joined()) return false;
  {
    const std::unique_lock<std::mutex> baton = try_to_lock(stream->baton());
    if (!baton || (!stream->has_ready() && !stream->busy())) return false;
  }
  void* token = hooks_->release();
  see_to(*stream, seq, kLongestNs);
  hooks_->acquire(token);
  return help(seq);
}

}  // namespace ofl::vm
