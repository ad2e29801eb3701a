#include "vm/stream.h"

#include "ep/memory/caching_allocator.h"
#include "vm/virtual_machine.h"

namespace ofl::vm {

namespace {

std::unique_ptr<StreamPolicy> make_policy(Stream& stream) {
  if (stream.device().is_host() || info(stream.type()).on_host) {
    return std::make_unique<HostPolicy>(stream);
  }
  return std::make_unique<QueuePolicy>(stream);
}

}  // namespace

Stream::Stream(VirtualMachine& machine, DeviceState& state, StreamType type, int id)
    : machine_(machine),
      state_(state),
      device_(state.device),
      type_(type),
      id_(id),
      name_(state.device.id().str() + " " + info(type).name),
      queue_(state.device.create_stream(info(type).priority)),
      policy_(make_policy(*this)),
      worker_(*this) {}

Stream::~Stream() {
  worker_.stop();
  if (const auto* progress = dynamic_cast<const ep::QueueProgress*>(policy_.get())) {
    device_.allocator().forget_queue(*progress);
  }
}

void Stream::dispatch(Slot* slot) { release(enqueue(slot), 0); }

// An in-order stream closes the list and queues the slot in one critical section, so that an issuer
// who finds the list closed and queues its own instruction behind (which needs the mutex) comes
// after this one.
Edge* Stream::enqueue(Slot* slot) {
  slot->state.store(SlotState::ready, std::memory_order_relaxed);
  Edge* successors = nullptr;
  if (policy_->in_order()) {
    std::lock_guard<std::mutex> lock(dispatch_mutex_);
    successors = close_successors(slot, Milestone::dispatched);
    push_ready(slot, slot);
  } else {
    push_ready(slot, slot);
  }
  worker_.wake();
  return successors;
}

// Links are written before the slot is published and then belong to who holds the baton; slots
// leave only all at once, so a head that compares equal is the head that was read.
void Stream::push_ready(Slot* youngest, Slot* oldest) {
  oldest->next = ready_.load(std::memory_order_relaxed);
  while (!ready_.compare_exchange_weak(oldest->next, youngest, std::memory_order_seq_cst,
                                       std::memory_order_relaxed)) {
  }
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
    stream->push_ready(youngest, oldest);
    stream->worker_.wake();
    youngest = oldest = nullptr;
  }
};

// What was pushed is taken as a whole and turned round. taken_ is marked before ready_ is emptied:
// has_ready() never misses what is between the two.
void Stream::pull_ready() {
  Slot* youngest = ready_.load(std::memory_order_relaxed);
  if (!youngest) return;
  const bool was_empty = !taken_.load(std::memory_order_relaxed);
  if (was_empty) taken_.store(youngest, std::memory_order_seq_cst);  // any slot will do for a mark
  youngest = ready_.exchange(nullptr, std::memory_order_seq_cst);
  Slot* const last = youngest;
  Slot* first = nullptr;
  while (youngest) {
    Slot* older = youngest->next;
    youngest->next = first;
    first = youngest;
    youngest = older;
  }
  if (was_empty) {
    taken_.store(first, std::memory_order_seq_cst);
  } else {
    last_taken_->next = first;
  }
  last_taken_ = last;
}

void Stream::remove_taken(Slot* slot) {
  Slot* before = nullptr;
  for (Slot* each = first_taken(); each != slot; each = each->next) before = each;
  if (last_taken_ == slot) last_taken_ = before;
  if (before) {
    before->next = slot->next;
  } else {
    taken_.store(slot->next, std::memory_order_seq_cst);
  }
}

void Stream::put_back(Slot* slot) {
  slot->next = first_taken();
  if (!slot->next) last_taken_ = slot;
  taken_.store(slot, std::memory_order_seq_cst);
  // Then: what ran until now was never neither ready nor running.
  slot->state.store(SlotState::ready, std::memory_order_seq_cst);
  worker_.wake();  // the runner may be a thread that only helps, and leave
}

// With the baton: what this stream's own retirement made ready runs next if it is older than what
// is queued. Consumers then follow their producers, and queued producers do not fill the memory
// first; older work is never overtaken for good.
void Stream::run_soon(Slot* slot) {
  pull_ready();
  const Slot* next = first_taken();
  if (next && next->name() < slot->name()) {
    enqueue(slot);  // a host stream: nobody waits for the dispatch alone
    return;
  }
  put_back(slot);
}

bool Stream::run_next(double max_cost, Seq last, bool lingers) {
  if (open_) return run_open(lingers);
  if (!first_taken()) pull_ready();
  Slot* slot = first_taken();
  if (!slot || slot->header.cost > max_cost) return false;
  // Never neither ready nor running.
  slot->state.store(SlotState::running, std::memory_order_seq_cst);
  remove_taken(slot);
  if (policy_->in_order()) {
    if (std::unique_ptr<Group> group = begin_group(slot)) {
      auto& policy = static_cast<QueuePolicy&>(*policy_);
      open_ = std::make_unique<OpenGroup>(*this, policy, groups_, std::move(group), slot);
      return run_open(lingers);
    }
  } else {
    if (run_group(slot, max_cost, last, lingers)) return true;
    if (first_taken() == slot) return false;
  }
  policy_->run(slot);
  return true;
}

// It is marked as ready a moment before it is pushed.
void Stream::run_taken(Slot* slot) {
  const auto is_taken = [&] {
    const Slot* each = first_taken();
    while (each && each != slot) each = each->next;
    return each != nullptr;
  };
  for (pull_ready(); !is_taken(); pull_ready()) std::this_thread::yield();
  remove_taken(slot);
  policy_->run(slot);
}

/// True when the open group is launched; without lingering, it is.
bool Stream::run_open(bool lingers) {
  open_->collect();
  if (lingers && !open_->is_due()) return false;
  const std::unique_ptr<OpenGroup> group = std::move(open_);
  group->launch();
  return true;
}

std::unique_ptr<Group> Stream::begin_group(Slot* first) {
  const Fusion fusion = machine_.options().fusion.load(std::memory_order_relaxed);
  if (!first->header.type->group || fusion == Fusion::never || operand_failure(first)) {
    return nullptr;
  }
  return first->header.type->group(first);
}

/// Runs what can run as one with `first`; false when it is to run by itself, or, back in its place,
/// not now.
bool Stream::run_group(Slot* first, double max_cost, Seq last, bool lingers) {
  std::unique_ptr<Group> group = begin_group(first);
  if (!group) return false;
  Gathering gathering(*this, groups_, std::move(group), first, last);
  gathering.collect();
  if (lingers) gathering.linger();
  if (gathering.alone()) return false;
  if (gathering.cost() > max_cost) {
    gathering.disband();
    return false;
  }
  if (gathering.run()) return true;
  gathering.disband();
  remove_taken(first);  // it is the first one
  first->state.store(SlotState::running, std::memory_order_seq_cst);
  return false;
}

// A host function may issue to its own stream: then the thread has the baton already. A kept slot
// is run with the baton only, by this thread or by the host function that has the baton, and that
// one keeps it until the slot is retired. So with the baton the slot either is as it was issued or
// has moved on.
void Stream::run_in_caller(Slot* slot, Seq seq) {
  const bool nested = is_held_here();
  std::unique_lock<std::mutex> baton(baton_, std::defer_lock);
  if (!nested) baton.lock();
  if (!machine_.window().in_flight(seq)) return;
  const std::thread::id outer =
      baton_owner_.exchange(std::this_thread::get_id(), std::memory_order_relaxed);
  if (policy_->in_order()) release(close_successors(slot, Milestone::dispatched), 0);
  slot->state.store(SlotState::running, std::memory_order_relaxed);
  policy_->run(slot);
  policy_->drain();
  baton_owner_.store(outer, std::memory_order_relaxed);
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
    if (successor->header.stream == retiring && !retiring->policy_->in_order()) {
      retiring->run_soon(successor);
      continue;
    }
    if (!successor->header.stream->policy_->in_order()) {
      batch.add(successor);
      continue;
    }
    Edge* more = successor->header.stream->enqueue(successor);
    if (!more) continue;
    Edge* last = more;  // their position is of no interest: they wait for the dispatch only
    while (last->next) last = last->next;
    last->next = edges;
    edges = more;
  }
  batch.push();
}

void Stream::launched(Slot* slot) {
  slot->state.store(SlotState::launched, std::memory_order_relaxed);
  slot->header.type->launched(slot->body, *this, slot->position);
  release(close_successors(slot, Milestone::launched), slot->position);
  machine_.launched();
}

void Stream::retire(Slot* slot, const FailurePtr& failure) {
  if (failure) {
    poison_results(slot, failure);
    if (failure->seq == slot->name()) machine_.note_failure(failure);
  }
  const auto bytes = static_cast<int64_t>(slot->header.bytes);
  slot->header.type->retired(slot->body, failure);
  slot->failure.reset();
  slot->async_error.reset();
  slot->started.reset();
  slot->ended.reset();
  slot->group = 0;
  slot->saved_bytes = 0;
  release(close_successors(slot, Milestone::done), 0, this);
  retired_bytes_.store(retired_bytes_.load(std::memory_order_relaxed) + bytes,
                       std::memory_order_seq_cst);
  retired_.store(retired_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  machine_.finished(slot);
}

}  // namespace ofl::vm
