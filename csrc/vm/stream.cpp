#include "vm/stream.h"

#include <limits>
#include <new>
#include <utility>

#include "ep/memory/caching_allocator.h"

namespace ofl::vm {

Stream::Stream(Board& board, ep::Device& device, DeviceState& state, StreamType type, int id,
               const std::function<MakePolicy>& make_policy,
               const std::function<MakeRunner>& make_runner)
    : board_(board),
      device_(device),
      state_(state),
      type_(type),
      id_(id),
      in_order_(!device.is_host() && !info(type).on_host),
      name_(device.id().str() + " " + info(type).name),
      queue_(device.create_stream(info(type).priority)),
      policy_(make_policy(*this)),
      ready_(is_pool()),
      runner_(make_runner(*this)) {}

Stream::~Stream() {
  runner_->stop();
  if (const ep::QueueProgress* progress = policy_->progress()) {
    device_.allocator().forget_queue(*progress);
  }
}

// An in-order stream closes the list and queues the slot in one critical section. An issuer that
// finds the list closed needs the mutex to queue its own instruction, which so comes after this.
Edge* Stream::enqueue(Slot* slot, bool wakes) {
  slot->state.store(SlotState::ready, std::memory_order_relaxed);
  Edge* successors = nullptr;
  if (in_order_) {
    std::lock_guard<std::mutex> lock(dispatch_mutex_);
    successors = slot->close(Milestone::dispatched);
    ready_.push(slot, slot);
  } else {
    ready_.push(slot, slot);
  }
  if (wakes) runner_->wake();
  return successors;
}

/// Instructions of one host stream that get ready at the same time: its runner sees all or none.
struct Stream::Batch {
  Stream* stream = nullptr;
  Slot* youngest = nullptr;
  Slot* oldest = nullptr;

  void add(Slot* slot) {
    if (slot->header.stream != stream) push();
    stream = slot->header.stream;
    slot->state.store(SlotState::ready, std::memory_order_relaxed);
    slot->next = youngest;
    youngest = slot;
    if (!oldest) oldest = slot;
  }
  void push() {
    if (!oldest) return;
    stream->ready_.push(youngest, oldest);
    stream->runner_->wake();
    youngest = oldest = nullptr;
  }
};

void Stream::put_back(Slot* slot) {
  ready_.put_back(slot);
  // Marked last: a slot always looks ready or running.
  slot->state.store(SlotState::ready, std::memory_order_seq_cst);
  // The thread may only help, and leave. The thread of a pool looks again.
  if (!is_pool()) runner_->wake();
}

// With the baton: an instruction that this stream's own retirement made ready runs next if it is
// older than the queued ones. Consumers then follow their producers, and queued producers do not
// fill the memory first. Older work is never overtaken for good.
void Stream::run_soon(Slot* slot) {
  ready_.pull();
  const Slot* next = ready_.first();
  const int32_t priority = slot->header.priority;
  const bool comes_later =
      next && (next->header.priority != priority ? next->header.priority > priority
                                                 : next->name() < slot->name());
  if (!comes_later) return put_back(slot);
  enqueue(slot);  // a host stream: nothing waits for the dispatch alone
}

// A slot always looks ready or running, so it is marked before it is unlinked.
Slot* Stream::take_next(double max_cost) {
  if (!ready_.first() || is_pool()) ready_.pull();
  Slot* slot = ready_.first();
  if (!slot || slot->header.cost > max_cost) return nullptr;
  slot->state.store(SlotState::running, std::memory_order_seq_cst);
  ready_.remove(slot);
  return slot;
}

bool Stream::run_ready(bool lingers) {
  bool progress = false;
  while (run_next({std::numeric_limits<double>::infinity(), kNoneAwaited, lingers})) {
    progress = true;
  }
  return progress;
}

bool Stream::retire_finished(bool all) {
  if (all) policy_->drain();
  return policy_->poll(!has_ready());
}

void Stream::run_in_caller(Slot* slot) {
  if (is_pool()) return policy_->run(slot);
  std::lock_guard<std::mutex> baton(baton_);
  if (in_order_) release(slot->close(Milestone::dispatched), 0);
  policy_->run(slot);
  policy_->drain();
}

// A loop and not a recursion: chains of dispatched instructions can be as long as the window.
void Stream::release(Edge* edges, uint64_t position, Stream* retiring) {
  Batch batch;
  while (edges) {
    Edge* edge = edges;
    Slot* successor = edge->successor;
    edges = edge->next;  // before the successor can run and move on
    edge->position = position;
    // acq_rel: the last of the predecessors to get here sees what all of them wrote.
    if (successor->pending.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
    if (successor->header.stream == retiring && !retiring->in_order_) {
      retiring->run_soon(successor);
      continue;
    }
    if (!successor->header.stream->in_order_) {
      batch.add(successor);
      continue;
    }
    Edge* more = successor->header.stream->enqueue(successor);
    if (!more) continue;
    Edge* last = more;  // they wait for the dispatch only and need no position
    while (last->next) last = last->next;
    last->next = edges;
    edges = more;
  }
  batch.push();
}

void Stream::launched(Slot* slot) {
  slot->state.store(SlotState::launched, std::memory_order_relaxed);
  slot->header.type->launched(slot->body, *this, slot->position);
  release(slot->close(Milestone::launched), slot->position);
  board_.launched();
}

void Stream::retire(Slot* slot, const FailurePtr& failure) {
  if (failure) {
    slot->poison_results(failure);
    // A cancellation is no error that synchronize() throws.
    const bool is_own = failure->seq == slot->name() && failure->kind != ErrorKind::cancelled;
    if (is_own) board_.failures.note(failure);
  }
  const auto bytes = static_cast<int64_t>(slot->header.bytes);
  slot->header.type->retired(slot->body, failure);
  slot->failure.reset();
  slot->async_error.reset();
  slot->started.reset();
  slot->ended.reset();
  slot->group = 0;
  slot->saved_bytes = 0;
  release(slot->close(Milestone::done), 0, this);
  retired_bytes_.store(retired_bytes_.load(std::memory_order_relaxed) + bytes,
                       std::memory_order_seq_cst);
  retired_.store(retired_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  board_.finished(slot);
}

FailurePtr make_failure(const Slot* slot, const Error& error) {
  return std::make_shared<const Failure>(
      Failure{error.kind(), error.what(), slot->header.name, slot->header.site, slot->name(),
              slot->header.stream->device().id(), error.payload()});
}

}  // namespace ofl::vm
