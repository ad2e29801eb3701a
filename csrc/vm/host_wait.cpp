// How host threads wait: for an instruction, a value, a device, room in the window, or memory.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "vm/virtual_machine.h"

namespace ofl::vm {

namespace {

constexpr std::chrono::milliseconds kSlice{50};  // between looks for an interrupt
constexpr double kMaxHelpCost = 2e7;  // some 10 ms: a helping thread cannot answer Ctrl-C meanwhile

}  // namespace

// The hooks are called outside any destructor and any catch-all: an interpreter that is shutting
// down may end this thread inside them by unwinding it.
void VirtualMachine::host_wait(const char* reason, const std::function<bool()>& done,
                               int64_t spin_ns) {
  if (done()) return;
  host_waits_.fetch_add(1, std::memory_order_relaxed);
  const int64_t begin = now_ns();
  void* token = hooks_->release();
  waiting_threads_.fetch_add(1, std::memory_order_seq_cst);
  waited_since_.store(begin, std::memory_order_seq_cst);
  for (Stream* stream : streams()) stream->worker().end_nap();
  ep::HelperPool* helpers = helpers_.load(std::memory_order_acquire);
  if (helpers) helpers->stand_by();
  std::optional<Error> interrupt = spin_until(done, token, spin_ns);
  if (helpers) helpers->stand_down();
  if (!interrupt) interrupt = sleep_until(reason, done, token);
  if (waiting_threads_.fetch_sub(1, std::memory_order_seq_cst) == 1) {
    waited_since_.store(0, std::memory_order_seq_cst);
    last_awaited_.store(kNoneAwaited, std::memory_order_relaxed);
  }
  hooks_->acquire(token);
  if (Observer* observer = this->observer()) observer->synced(reason, begin, now_ns());
  if (interrupt) throw *interrupt;
}

/// While there is work for helpers, and a little longer; returns what interrupted it.
std::optional<Error> VirtualMachine::spin_until(const std::function<bool()>& done, void* token,
                                                int64_t spin_ns) {
  constexpr int64_t kSliceNs = std::chrono::nanoseconds(kSlice).count();
  int64_t looked = now_ns();
  for (int64_t spun = looked; !done() && now_ns() - spun < spin_ns;) {
    if (assist()) spun = now_ns();
    if (spun - looked >= kSliceNs) {
      if (std::optional<Error> error = hooks_->interrupt(token)) return error;
      looked = spun;
    }
    std::this_thread::yield();
  }
  return std::nullopt;
}

std::optional<Error> VirtualMachine::sleep_until(const char* reason,
                                                 const std::function<bool()>& done, void* token) {
  int64_t retired = 0;
  int64_t since = 0;
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(sync_->mutex);
      const auto slice_end = std::chrono::steady_clock::now() + kSlice;
      if (sync_->changed.wait_until(lock, slice_end, done)) return std::nullopt;
    }
    if (std::optional<Error> error = hooks_->interrupt(token)) return error;
    if (hooks_->ends() && is_lost()) {
      return Error(ErrorKind::runtime, concat("[", reason,
                                              "] waits for a host function that will not return: "
                                              "its thread ended with the interpreter"));
    }
    watch_for_hang(&retired, &since);
  }
}

/// While the layer above ends: nothing in flight moves any more. Two looks at the count, as in
/// settle(): a successor that gets ready behind our back is seen, or its predecessor was counted.
bool VirtualMachine::is_lost() {
  const int64_t retired = retired_count();
  std::vector<Stream*> calling;
  {
    std::lock_guard<std::mutex> lock(window_.issue_mutex());
    if (find_moving(&calling)) return false;
  }
  return !calling.empty() && retired_count() == retired;
}

void VirtualMachine::watch_for_hang(int64_t* retired, int64_t* since) {
  const double timeout = options_.hang_timeout.load(std::memory_order_relaxed);
  const int64_t now_retired = retired_count();
  const int64_t now = now_ns();
  if (*since == 0 || now_retired != *retired) {
    *retired = now_retired;
    *since = now;
  } else if (timeout > 0 && now - *since >= static_cast<int64_t>(timeout * 1e9)) {
    const std::string report = dump();
    std::fprintf(stderr, "oneflow_lite: nothing has retired for %g s while a thread waits\n%s",
                 timeout, report.c_str());
    *since = now;
  }
}

/// True when the instruction has moved on; otherwise its retirement will wake us. Sync mutex or
/// not: whoever then sleeps does so with the mutex held since this call.
bool VirtualMachine::mark_waited(Seq seq) {
  std::atomic<Seq>& word = window_.slot_of(seq).seq;
  Seq current = word.load(std::memory_order_seq_cst);
  while ((current & ~kWaited) == seq) {
    if (current & kWaited) return false;
    if (word.compare_exchange_weak(current, seq | kWaited, std::memory_order_seq_cst)) return false;
  }
  return true;
}

/// Runs what its host stream has ready, as long as that is short; true when `seq` has finished.
bool VirtualMachine::help(Seq seq) {
  Stream* stream = nullptr;
  {
    std::lock_guard<std::mutex> lock(window_.issue_mutex());  // keeps the slot's header in place
    if (!window_.in_flight(seq)) return true;
    stream = window_.slot_of(seq).header.stream;
  }
  if (!info(stream->type()).helpable || stream->policy().can_wait()) return false;
  void* token = hooks_->release();
  {
    std::unique_lock<std::mutex> baton(stream->baton(), std::try_to_lock);
    while (baton.owns_lock() && window_.in_flight(seq) &&
           stream->run_next(kMaxHelpCost, seq, false)) {
    }
  }
  hooks_->acquire(token);
  return !window_.in_flight(seq);
}

void VirtualMachine::wait(Seq seq, const char* reason) {
  note_look();
  if (!window_.in_flight(seq)) return;
  PacedCall call;
  note_pace(call);
  if (help(seq)) return;
  if (RunningScope::any())
    return wait_inside(seq, reason, [this, seq] { return mark_waited(seq); });
  wait_for_worker(seq, reason, std::max(kSpinNs, spin_ns(seq)));
}

/// Without helping: when the window is full its workers are busy, and a second runner only gets in
/// their way.
void VirtualMachine::wait_for_worker(Seq seq, const char* reason, int64_t spin_ns) {
  PacedCall call;
  note_pace(call);
  note_awaited(seq);
  host_wait(reason, [this, seq] { return mark_waited(seq); }, spin_ns);
}

/// How long its end is worth to be looked for.
int64_t VirtualMachine::spin_ns(Seq seq) {
  std::lock_guard<std::mutex> lock(window_.issue_mutex());  // keeps the slot's header in place
  return window_.in_flight(seq) ? awaited_spin_ns(window_.slot_of(seq).header.stream->device()) : 0;
}

/// A wait for work of the cpu is no code of the thread's own. A wait for another device counts as
/// such: a worker of the cpu gets ahead meanwhile.
void VirtualMachine::note_pace(PacedCall& call) {
  if (state(Device{}).in_flight() > 0) call.note();
}

/// A hint: a thread that stops waiting at the same time may take it away.
void VirtualMachine::note_awaited(Seq seq) {
  const Seq awaited = last_awaited();
  if (awaited == kNoneAwaited || awaited < seq) {
    last_awaited_.store(seq, std::memory_order_relaxed);
  }
}

/// A slot that has moved on while its list was read has been launched, too.
bool VirtualMachine::is_launched(Seq seq) {
  if (!window_.in_flight(seq)) return true;
  const auto& list = window_.slot_of(seq).successors[static_cast<int>(Milestone::launched)];
  return list.load(std::memory_order_acquire) == closed_list() || !window_.in_flight(seq);
}

void VirtualMachine::wait_until_launched(Seq seq, const char* reason) {
  const auto done = [this, seq] { return is_launched(seq); };
  if (done()) return;
  if (RunningScope::any()) return wait_inside(seq, reason, done);
  Watching watching(watchers_);
  host_wait(reason, done);
}

void VirtualMachine::wait_for_value(const Dependence& object, const char* reason) {
  Seq last_write;
  {
    std::lock_guard<std::mutex> lock(window_.issue_mutex());
    last_write = object.joint().last_write_;
  }
  wait(last_write, reason);
  if (FailurePtr failure = object.failure()) throw OperationError(*failure);
}

void VirtualMachine::wait_for_access(const Dependence& object, const char* reason) {
  note_look();
  SmallVector<Seq, 16> accesses;
  {
    std::lock_guard<std::mutex> lock(window_.issue_mutex());
    const Operand write{const_cast<Dependence*>(&object), Access::write};
    window_.predecessors(&write, 1, &accesses);
  }
  std::sort(accesses.begin(), accesses.end());
  // The youngest first: what comes before it may then run as one with it.
  for (int i = accesses.size() - 1; i >= 0; --i) wait(accesses[i], reason);
}

bool VirtualMachine::is_ready(const Dependence& object) {
  std::lock_guard<std::mutex> lock(window_.issue_mutex());
  return !window_.in_flight(object.joint().last_write_);
}

/// With the issue mutex.
void VirtualMachine::collect_in_flight(const DeviceState* state, SmallVector<Seq, 16>* out) {
  for (size_t i = 0; i < window_.size(); ++i) {
    Slot& slot = window_.slot_at(i);
    const Seq seq = slot.seq.load(std::memory_order_acquire) & ~kWaited;
    if (seq && (!state || &slot.header.stream->state() == state)) out->push_back(seq);
  }
}

void VirtualMachine::drain(std::optional<Device> device) {
  if (RunningScope::any()) {
    fail(ErrorKind::runtime,
         "[synchronize] called inside a host function, which is in flight itself");
  }
  note_look();
  DeviceState* state = device ? &this->state(*device) : nullptr;
  if ((state ? state->in_flight() : total_in_flight()) == 0) return;
  SmallVector<Seq, 16> in_flight;
  {
    std::lock_guard<std::mutex> lock(window_.issue_mutex());
    collect_in_flight(state, &in_flight);
  }
  std::sort(in_flight.begin(), in_flight.end());
  for (int i = in_flight.size() - 1; i >= 0; --i) wait(in_flight[i], "synchronize");
}

void VirtualMachine::synchronize(std::optional<Device> device) {
  drain(device);
  FailurePtr first;
  size_t others = 0;
  {
    std::lock_guard<std::mutex> lock(failures_mutex_);
    if (failures_.empty()) return;
    std::vector<FailurePtr> kept;
    for (FailurePtr& failure : failures_) {
      if (device && failure->device != *device) {
        kept.push_back(std::move(failure));
        continue;
      }
      if (first) ++others;
      if (!first || failure->seq < first->seq) first = failure;
    }
    failures_.swap(kept);
  }
  if (!first) return;
  if (others == 0) throw OperationError(*first);
  Failure summary = *first;
  summary.message += concat(" (and ", others, " more failed operation", others > 1 ? "s" : "", ")");
  throw OperationError(summary);
}

int64_t VirtualMachine::total_in_flight() const {
  int64_t total = 0;
  const DeviceState* state = newest_state_.load(std::memory_order_acquire);
  for (; state; state = state->older) total += state->in_flight();
  return total;
}

/// Of what is in flight (on `state`, or anywhere) the oldest in the younger half of a window of
/// `span`, else the youngest of the rest; 0 when there is nothing. Slots are looked at one by one:
/// the number of a slow instruction may be older than the ring is long.
Seq VirtualMachine::middle_in_flight(const DeviceState* state, int64_t span) {
  SmallVector<Seq, 16> in_flight;
  std::lock_guard<std::mutex> lock(window_.issue_mutex());
  collect_in_flight(state, &in_flight);
  const Seq last = window_.last_seq();
  const Seq middle = last > static_cast<Seq>(span / 2) ? last - static_cast<Seq>(span / 2) : 0;
  Seq above = 0, below = 0;
  for (Seq seq : in_flight) {
    if (seq >= middle && (above == 0 || seq < above)) above = seq;
    if (seq < middle) below = std::max(below, seq);
  }
  return above ? above : below;
}

Seq VirtualMachine::oldest_in_flight() {
  if (RunningScope::any()) return 0;
  SmallVector<Seq, 16> in_flight;
  std::lock_guard<std::mutex> lock(window_.issue_mutex());
  collect_in_flight(nullptr, &in_flight);
  return in_flight.size() == 0 ? 0 : *std::min_element(in_flight.begin(), in_flight.end());
}

/// Whether a thread without code of its own does better to wait for all that is in flight: then its
/// work can stay with it again. Not where it would wait for host functions or copies, too.
bool VirtualMachine::could_have_stayed(DeviceState& state) {
  if (!state.device.is_host() || HostPace::of_this_thread().is_busy()) return false;
  SmallVector<Seq, 16> in_flight;
  std::lock_guard<std::mutex> lock(window_.issue_mutex());
  collect_in_flight(&state, &in_flight);
  return std::all_of(in_flight.begin(), in_flight.end(), [&](Seq seq) {
    return window_.slot_of(seq).header.stream->type() == StreamType::compute;
  });
}

/// Until all that is in flight now has retired, but not what other threads issue meanwhile.
void VirtualMachine::wait_for_present(DeviceState& state) {
  SmallVector<Seq, 16> in_flight;
  {
    std::lock_guard<std::mutex> lock(window_.issue_mutex());
    collect_in_flight(&state, &in_flight);
  }
  std::sort(in_flight.begin(), in_flight.end());
  for (int i = in_flight.size() - 1; i >= 0; --i) {  // most others end before the youngest
    wait_for_worker(in_flight[i], "room in the window");
  }
}

void VirtualMachine::wait_for_room(DeviceState& state) {
  const int64_t most = options_.max_in_flight.load(std::memory_order_relaxed);
  const int64_t most_bytes = options_.max_bytes.load(std::memory_order_relaxed);
  // A host function that issues must not wait for room that only its own end can make.
  if (RunningScope::any() || state.has_room(most, most_bytes, 1)) return;
  if (could_have_stayed(state)) wait_for_present(state);
  while (!state.has_room(most, most_bytes, 2)) {
    const Seq middle = middle_in_flight(&state, std::min(most, state.in_flight()));
    if (middle == 0) return;  // all of it retired meanwhile
    wait_for_worker(middle, "room in the window");
  }
}

void VirtualMachine::wait_for_slot() {
  if (RunningScope::any()) return wait_for_slot_inside();
  const Seq middle = middle_in_flight(nullptr, static_cast<int64_t>(window_.size()));
  if (middle) wait_for_worker(middle, "room in the window");
}

/// Something that may give memory back is running, or is ready on a stream whose runner is not
/// starved.
bool VirtualMachine::others_running(const Slot& self) {
  for (Stream* stream : streams()) {
    if (stream->has_ready() && !stream->starved()) return true;
  }
  for (size_t i = 0; i < window_.size(); ++i) {
    Slot& slot = window_.slot_at(i);
    if (&slot == &self || slot.seq.load(std::memory_order_acquire) == 0) continue;
    const SlotState state = slot.state.load(std::memory_order_acquire);
    const bool active =
        state == SlotState::running || state == SlotState::calling || state == SlotState::launched;
    if (active && !slot.starved.load(std::memory_order_seq_cst)) return true;
  }
  return false;
}

bool VirtualMachine::wait_for_memory(LaunchContext& context, int64_t before) {
  if (context.stream.policy().can_wait()) {
    context.stream.policy().poll(true);  // the events that the sync will complete
    context.queue.sync();
    while (context.stream.policy().poll(true)) {
    }
  }
  if (retired_count() != before) return true;
  watchers_.fetch_add(1, std::memory_order_seq_cst);
  context.slot.starved.store(true, std::memory_order_seq_cst);
  context.stream.set_starved(true);
  notify_all();  // others that starve see one runner less
  bool retired = false;
  {
    std::unique_lock<std::mutex> lock(sync_->mutex);
    sync_->changed.wait(lock, [&] {
      // The count last: what has stopped running meanwhile was counted before it stopped.
      const bool alone = !others_running(context.slot);
      retired = retired_count() != before;
      return retired || alone;
    });
  }
  context.stream.set_starved(false);
  context.slot.starved.store(false, std::memory_order_seq_cst);
  watchers_.fetch_sub(1, std::memory_order_seq_cst);
  return retired;
}

}  // namespace ofl::vm
