#include "vm/virtual_machine.h"

#include <algorithm>
#include <thread>

#include "ep/threads/crowding.h"

namespace ofl::vm {

namespace {

constexpr size_t kMaxNotedFailures = 1024;
/// A queue with as much to do stays busy. More of it only holds more memory: the streams of a
/// device launch ahead of each other.
constexpr int64_t kDeepCount = 128;
constexpr int64_t kDeepBytes = int64_t{64} << 20;
/// Of Options::inline_cost: about 100 us as estimated. The products of a training step for 512
/// images take 80 us; handed over, the step took 1.2 times as long.
constexpr double kAlonePart = 2;
/// About 300 us as estimated. A thread that waits for a worker gives up the lock of the layer above
/// (Python's), and beside another busy thread it gets it back after a switch interval of 5 ms. A
/// call that stays holds the others up for less than a tenth of that. NumPy keeps the lock, too,
/// where the sizes of a call's dimensions multiply to 500 at most: of det and cholesky to 500 rows.
constexpr double kAwaitedPart = 6;
/// The same where threads do not get a core in time: about 5 ms, a time slice of the system.
constexpr double kCrowdedPart = 100;

thread_local RunningScope* innermost_running = nullptr;
thread_local HostPace pace;

struct BarrierBody {};

// Gives up the issuer's guard; the last of issuer and predecessors to get here dispatches. acq_rel,
// acquire: pairs with the releases of the predecessors. A count of one is the guard alone, which
// nobody else gives up, so it needs no atomic step.
void dispatch_if_last(Slot* slot) {
  if (slot->pending.load(std::memory_order_acquire) == 1 ||
      slot->pending.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    slot->header.stream->dispatch(slot);
  }
}

const InstructionType kBarrierType = {
    "barrier",
    [](void*, LaunchContext&) {},
    [](void*, Stream&, uint64_t) {},
    [](void*, const FailurePtr&) {},
    [](const void*, Description*) {},
};

}  // namespace

int64_t DeviceState::in_flight() const {
  int64_t count = issued.load(std::memory_order_relaxed);
  for (auto& entry : streams) {
    if (Stream* stream = entry.load(std::memory_order_acquire)) count -= stream->retired_count();
  }
  return count;
}

int64_t DeviceState::bytes_in_flight() const {
  int64_t bytes = issued_bytes.load(std::memory_order_relaxed);
  for (auto& entry : streams) {
    if (Stream* stream = entry.load(std::memory_order_acquire)) bytes -= stream->retired_bytes();
  }
  return bytes;
}

bool DeviceState::has_room(int64_t count, int64_t bytes, int64_t part) {
  const auto below = [part](int64_t value, int64_t most) {
    return value < std::max<int64_t>(1, most / part);
  };
  const int64_t now_issued = issued.load(std::memory_order_relaxed);
  const int64_t now_bytes = issued_bytes.load(std::memory_order_relaxed);
  if (below(now_issued - seen_retired.load(std::memory_order_relaxed), count) &&
      below(now_bytes - seen_retired_bytes.load(std::memory_order_relaxed),
            std::min(bytes, kDeepBytes))) {
    return true;
  }
  const int64_t left = in_flight(), left_bytes = bytes_in_flight();
  seen_retired.store(now_issued - left, std::memory_order_relaxed);
  seen_retired_bytes.store(now_bytes - left_bytes, std::memory_order_relaxed);
  return below(left, count) && below(left_bytes, bytes) &&
         (below(left, kDeepCount) || below(left_bytes, kDeepBytes));
}

HostPace& HostPace::of_this_thread() { return pace; }

RunningScope::RunningScope(Seq seq, Stream& stream)
    : seq_(seq), stream_(stream), outer_(innermost_running) {
  innermost_running = this;
}

RunningScope::~RunningScope() { innermost_running = outer_; }

bool RunningScope::contains(Seq seq) {
  for (RunningScope* scope = innermost_running; scope; scope = scope->outer_) {
    if (scope->seq_ == seq) return true;
  }
  return false;
}

bool RunningScope::any() { return innermost_running != nullptr; }

Stream* RunningScope::stream() { return &innermost_running->stream_; }

VirtualMachine::VirtualMachine(FindDevice find_device, size_t window_slots)
    : find_device_(std::move(find_device)), window_(window_slots) {}

VirtualMachine::~VirtualMachine() { shutdown(); }

DeviceState& VirtualMachine::state(Device device) {
  if (device.index < 0 || device.index >= kMaxDevicesPerType) {
    fail(ErrorKind::value, "[device] ", device.str(), " does not exist");
  }
  auto& entry = states_[static_cast<int>(device.type)][device.index];
  if (DeviceState* known = entry.load(std::memory_order_acquire)) return *known;
  ep::Device& found = find_device_(device);
  std::lock_guard<std::mutex> lock(setup_mutex_);
  if (DeviceState* known = entry.load(std::memory_order_relaxed)) return *known;
  const DeviceState* older = newest_state_.load(std::memory_order_relaxed);
  owned_states_.push_back(std::make_unique<DeviceState>(found, older));
  newest_state_.store(owned_states_.back().get(), std::memory_order_release);
  if (found.helpers()) helpers_.store(found.helpers(), std::memory_order_release);
  entry.store(owned_states_.back().get(), std::memory_order_release);
  return *owned_states_.back();
}

Stream& VirtualMachine::stream(Device device, StreamType type) {
  DeviceState& home = state(device);
  auto& entry = home.streams[static_cast<int>(type)];
  if (Stream* known = entry.load(std::memory_order_acquire)) return *known;
  std::lock_guard<std::mutex> lock(setup_mutex_);
  if (Stream* known = entry.load(std::memory_order_relaxed)) return *known;
  const int id = static_cast<int>(owned_streams_.size());
  owned_streams_.push_back(std::make_unique<Stream>(*this, home, type, id));
  entry.store(owned_streams_.back().get(), std::memory_order_release);
  return *owned_streams_.back();
}

void VirtualMachine::collect_predecessors(const Instruction& header, const Operand* operands,
                                          int count, SmallVector<Seq, 16>* out) {
  out->clear();
  if (window_.in_flight(barrier_)) out->push_back(barrier_);
  window_.predecessors(operands, count, out);
  if (!RunningScope::any()) return;
  if (ending_.load(std::memory_order_relaxed) && header.stream->type() == StreamType::host_func) {
    fail(ErrorKind::runtime, "[", header.name,
         "] a host function cannot issue another one while the process ends");
  }
  for (Seq seq : *out) {
    if (RunningScope::contains(seq)) {
      fail(ErrorKind::runtime, "[", header.name,
           "] issued inside a host function on a tensor of its own "
           "read or write set; it would wait for itself");
    }
  }
}

/// With the issue mutex: puts the instruction into a slot and links it; nullptr when none is free.
/// The slot still has its guard: it cannot be dispatched yet.
Slot* VirtualMachine::enter(const Instruction& header, const Operand* operands, int count,
                            void* body, Construct construct,
                            const SmallVector<Seq, 16>& predecessors) {
  Slot* slot = window_.claim();
  if (!slot) return nullptr;
  const Seq seq = window_.last_seq();
  slot->header = header;
  for (int i = 0; i < count; ++i) slot->operands.push_back(Window::joint(operands[i]));
  construct(slot->body, body);
  window_.link(slot, predecessors);
  slot->seq.store(seq, std::memory_order_release);
  window_.record(operands, count, seq);
  DeviceState& state = header.stream->state();
  state.issued.store(state.issued.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  state.issued_bytes.store(
      state.issued_bytes.load(std::memory_order_relaxed) + static_cast<int64_t>(header.bytes),
      std::memory_order_relaxed);
  ++issued_;
  return slot;
}

Seq VirtualMachine::issue_body(const Instruction& header, const Operand* operands, int count,
                               void* body, Construct construct) {
  if (options_.naive.load(std::memory_order_relaxed) && !Worker::is_current_thread()) {
    return issue_naive(header, operands, count, body, construct);
  }
  const bool observed = observer() != nullptr;
  const int64_t begin = observed ? now_ns() : 0;
  Description description;
  if (observed) header.type->describe(body, &description);
  Slot* slot = nullptr;
  Seq seq = 0;
  wait_for_room(header.stream->state());
  for (;;) {
    {
      std::lock_guard<std::mutex> lock(window_.issue_mutex());
      SmallVector<Seq, 16> predecessors;
      collect_predecessors(header, operands, count, &predecessors);
      slot = enter(header, operands, count, body, construct, predecessors);
      seq = window_.last_seq();
    }
    if (slot) break;
    wait_for_slot();
  }
  // The slot's guard still keeps the operands alive.
  bool shared = false;
  for (int i = 0; i < count; ++i) shared = shared || operands[i].object->shared();
  dispatch_if_last(slot);
  if (observed) report_issue(header, seq, description, begin);
  if (shared) wait(seq, "shared memory");
  return seq;
}

// In naive mode nothing of this thread is in flight; predecessors can only be other threads' work.
// The instruction is in flight before its thread has the baton: a host function that has the baton
// may wait for it, and then runs it.
Seq VirtualMachine::issue_naive(const Instruction& header, const Operand* operands, int count,
                                void* body, Construct construct) {
  Slot* slot = nullptr;
  Seq seq = 0;
  SmallVector<Seq, 16> predecessors;
  refuse_behind_lost_call(*header.stream);
  while (!slot) {
    {
      std::lock_guard<std::mutex> lock(window_.issue_mutex());
      collect_predecessors(header, operands, count, &predecessors);
      if (predecessors.empty()) {
        slot = enter(header, operands, count, body, construct, predecessors);
        seq = window_.last_seq();
      }
      if (slot) slot->state.store(SlotState::kept, std::memory_order_relaxed);
    }
    if (!slot && predecessors.empty()) wait_for_slot();
    for (Seq predecessor : predecessors) wait(predecessor, "naive mode");
  }
  void* token = hooks_->release();
  header.stream->run_in_caller(slot, seq);
  hooks_->acquire(token);
  return seq;
}

/// While the layer above ends, the thread of another host function keeps the baton for good.
void VirtualMachine::refuse_behind_lost_call(Stream& stream) {
  if (!hooks_->ends() || stream.is_held_here()) return;
  std::vector<Stream*> calling;
  std::lock_guard<std::mutex> lock(window_.issue_mutex());
  find_moving(&calling);
  if (std::count(calling.begin(), calling.end(), &stream) == 0) return;
  fail(ErrorKind::runtime, "[", stream.name(),
       "] a host function will not return: its thread ended with the interpreter");
}

void VirtualMachine::barrier(SiteId site) {
  Instruction header;
  header.type = &kBarrierType;
  header.name = "barrier";
  header.stream = &stream(Device{}, StreamType::barrier);
  header.site = site;
  if (options_.naive.load(std::memory_order_relaxed) && !Worker::is_current_thread()) {
    return drain(std::nullopt);
  }
  BarrierBody body;
  Slot* slot = nullptr;
  for (;;) {
    {
      std::lock_guard<std::mutex> lock(window_.issue_mutex());
      SmallVector<Seq, 16> predecessors;
      collect_in_flight(nullptr, &predecessors);
      slot = enter(header, nullptr, 0, &body, [](void*, void*) {}, predecessors);
      if (slot) barrier_ = window_.last_seq();
    }
    if (slot) break;
    wait_for_slot();
  }
  dispatch_if_last(slot);
}

void VirtualMachine::report_issue(const Instruction& header, Seq seq,
                                  const Description& description, int64_t begin) {
  if (Observer* observer = this->observer()) {
    observer->issued(header, seq, description, begin, now_ns());
  }
}

// Retirement's last step. The exchange hands the slot to the next issuer and tells, in the same
// step, whether a thread sleeps on it: a waiter sets kWaited by compare-exchange on the same word,
// so either it is seen here or the waiter sees that the slot has moved on. Watchers: the stream
// counts the retirement (seq_cst) before watchers_ is read; a watcher raises watchers_ (seq_cst)
// before it reads the counts. One of the two sees the other.
void VirtualMachine::finished(Slot* slot) {
  const Seq last = slot->seq.exchange(0, std::memory_order_seq_cst);
  if ((last & kWaited) || watchers_.load(std::memory_order_seq_cst) > 0) notify_all();
}

// The list of the slot was closed before the fence, a watcher reads it behind its own: one of the
// two sees the other.
void VirtualMachine::launched() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (watchers_.load(std::memory_order_relaxed) > 0) notify_all();
}

void VirtualMachine::notify_all() {
  {
    std::lock_guard<std::mutex> lock(sync_->mutex);
  }
  sync_->changed.notify_all();
}

void VirtualMachine::note_failure(const FailurePtr& failure) {
  std::lock_guard<std::mutex> lock(failures_mutex_);
  ++failure_count_;
  if (failures_.size() < kMaxNotedFailures) failures_.push_back(failure);
}

bool VirtualMachine::join(Dependence& object, Dependence& to) {
  std::lock_guard<std::mutex> lock(window_.issue_mutex());
  return window_.join(object, to);
}

bool VirtualMachine::stays_here(double cost, Company company, PacedCall& call) {
  const double most = options_.inline_cost.load(std::memory_order_relaxed);
  ep::HelperPool* helpers = helpers_.load(std::memory_order_acquire);
  if (helpers && helpers->crowding().is_crowded()) return cost <= kCrowdedPart * most;
  if (company == Company::awaited && cost <= kAwaitedPart * most) {
    call.note();
    return true;
  }
  if (cost <= kAlonePart * most && !call.note() && company != Company::joinable) return true;
  const int issued = issued_since_look_.load(std::memory_order_relaxed);
  issued_since_look_.store(std::min(issued + 1, 2), std::memory_order_relaxed);
  return cost <= most && issued == 0 && looks_at_each_.load(std::memory_order_relaxed);
}

InlineScope::InlineScope(VirtualMachine& machine, const Operand* operands, int count)
    : machine_(machine), lock_(machine.window_.issue_mutex()) {
  if (machine.window_.in_flight(machine.barrier_) || !machine.window_.ready(operands, count)) {
    lock_.unlock();
  }
}

std::vector<Stream*> VirtualMachine::streams() {
  std::lock_guard<std::mutex> lock(setup_mutex_);
  std::vector<Stream*> all;
  for (auto& stream : owned_streams_) all.push_back(stream.get());
  return all;
}

void VirtualMachine::shutdown() {
  struct Naive {
    explicit Naive(Options& options) : options(options) {}
    ~Naive() { options.naive.store(true, std::memory_order_relaxed); }
    Options& options;
  };
  ending_.store(true, std::memory_order_relaxed);
  {
    Naive from_here(options_);
    drain(std::nullopt);
  }
  drain(std::nullopt);  // what other threads issued until they saw the flag
  void* token = hooks_->release();
  for (Stream* stream : streams()) stream->worker().stop();
  hooks_->acquire(token);
}

}  // namespace ofl::vm
