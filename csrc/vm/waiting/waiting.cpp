#include "vm/waiting/waiting.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "vm/board/running_scope.h"
#include "vm/pool/pool.h"
#include "vm/progress/partner.h"
#include "vm/worker.h"

namespace ofl::vm {

namespace {

constexpr std::chrono::nanoseconds kSlice{50'000'000};      // between looks for an interrupt
constexpr std::chrono::nanoseconds kStoppedSlice{100'000};  // with a worker's part to do
constexpr double kMaxHelpCost = 2e7;  // about 10 ms, in which the thread cannot answer Ctrl-C

}  // namespace

// The hooks are called outside any destructor and any catch-all: an interpreter that is shutting
// down may end this thread inside them by unwinding it.
void Waiting::host_wait(const char* reason, const Done& done, HangWatch* watch, int64_t spin_ns,
                        int64_t deadline) {
  if (done()) return;
  const int64_t begin = now_ns();
  void* token = hooks_->release();
  board_.begin_wait(begin);
  for (Stream* stream : devices_.streams()) stream->runner().end_nap();
  ep::HelperPool* helpers = board_.helpers();
  if (helpers) helpers->stand_by();
  std::optional<Error> interrupt = spin_until(done, token, spin_ns);
  if (helpers) helpers->stand_down();
  if (!interrupt) interrupt = sleep_until(reason, done, token, watch, deadline);
  board_.end_wait();
  hooks_->acquire(token);
  if (Observer* observer = board_.observer()) observer->synced(reason, begin, now_ns());
  if (interrupt) throw *interrupt;
}

/// Spins while there is work for helpers, and a little longer; returns an interrupt's error.
std::optional<Error> Waiting::spin_until(const Done& done, void* token, int64_t spin_ns) {
  constexpr int64_t kSliceNs = std::chrono::nanoseconds(kSlice).count();
  int64_t looked = now_ns();
  for (int64_t spun = looked; !done() && now_ns() - spun < spin_ns;) {
    if (board_.assist()) {
      spun = now_ns();
      spin_ns = std::max(spin_ns, ep::HelperPool::kAwakeNs);
    }
    if (spun - looked >= kSliceNs) {
      if (std::optional<Error> error = hooks_->interrupt(token)) return error;
      looked = spun;
    }
    std::this_thread::yield();
  }
  return std::nullopt;
}

std::optional<Error> Waiting::sleep_until(const char* reason, const Done& done, void* token,
                                          HangWatch* watch, int64_t deadline) {
  for (int64_t looked = now_ns();;) {
    const std::chrono::nanoseconds left(deadline - now_ns());
    const std::chrono::nanoseconds slice = retire_on_stopped() ? kStoppedSlice : kSlice;
    if (board_.sleep_until(done, std::min(slice, left))) return std::nullopt;
    if (now_ns() - looked < kSlice.count()) continue;
    looked = now_ns();
    if (std::optional<Error> error = hooks_->interrupt(token)) return error;
    if (hooks_->ends() && is_lost()) {
      return Error(ErrorKind::runtime, concat("[", reason,
                                              "] waits for a function that will not return: "
                                              "its thread ended with the interpreter"));
    }
    if (std::optional<Error> error = require_threads()) return error;
    watch_for_hang(watch);
  }
}

/// The system may have refused the thread of a stream when its work got ready.
std::optional<Error> Waiting::require_threads() {
  return catch_error([this] {
    for (Stream* stream : devices_.streams()) {
      if (stream->has_ready()) stream->runner().require_thread();
    }
  });
}

bool Waiting::retire_on_stopped() {
  bool is_busy = false;
  for (Stream* stream : devices_.streams()) {
    if (!stream->is_stopped()) continue;
    std::unique_lock<std::mutex> baton(stream->baton(), std::try_to_lock);
    if (!baton) continue;
    stream->policy().poll(true);
    is_busy = is_busy || stream->policy().busy();
  }
  return is_busy;
}

/// While the layer above ends: there are functions in flight, and nothing moves any more. Two looks
/// at the count, as in Fork::settle(): if a successor gets ready behind our back, its predecessor
/// is seen or counted.
bool Waiting::is_lost() {
  const int64_t retired = devices_.retired_count();
  {
    std::lock_guard<std::mutex> lock(window_.issue_mutex());
    if (find_moving(false)) return false;
  }
  return devices_.in_flight() > 0 && devices_.retired_count() == retired;
}

void Waiting::watch_for_hang(HangWatch* watch) {
  const double timeout = board_.options.hang_timeout.load(std::memory_order_relaxed);
  const int64_t now_retired = devices_.retired_count();
  const int64_t now = now_ns();
  if (watch->since == 0 || now_retired != watch->retired) {
    watch->retired = now_retired;
    watch->since = now;
  } else if (timeout > 0 && now - watch->since >= static_cast<int64_t>(timeout * 1e9)) {
    const std::string report = report_();
    std::fprintf(stderr, "oneflow_lite: nothing has retired for %g s while a thread waits\n%s",
                 timeout, report.c_str());
    watch->since = now;
  }
}

/// True when the instruction has moved on; otherwise its retirement will wake this thread, which
/// holds the board's mutex from this call until it sleeps.
bool Waiting::mark_waited(Seq seq) {
  std::atomic<Seq>& word = window_.slot_of(seq).seq;
  Seq current = word.load(std::memory_order_seq_cst);
  while ((current & ~kWaited) == seq) {
    if (current & kWaited) return false;
    if (word.compare_exchange_weak(current, seq | kWaited, std::memory_order_seq_cst)) return false;
  }
  return true;
}

/// Runs the short ready instructions of its host stream; true when `seq` has finished.
bool Waiting::help(Seq seq) {
  Stream* stream = nullptr;
  {
    std::lock_guard<std::mutex> lock(window_.issue_mutex());  // keeps the slot's header in place
    if (!window_.in_flight(seq)) return true;
    stream = window_.slot_of(seq).header.stream;
  }
  if (!info(stream->type()).helpable || stream->in_order()) return false;
  void* token = hooks_->release();
  {
    std::unique_lock<std::mutex> baton(stream->baton(), std::try_to_lock);
    while (baton.owns_lock() && window_.in_flight(seq) &&
           stream->run_next({kMaxHelpCost, seq, false})) {
    }
  }
  hooks_->acquire(token);
  return !window_.in_flight(seq);
}

void Waiting::wait(Seq seq, const char* reason) {
  small_work_.note_look();
  if (!window_.in_flight(seq)) return;
  PacedCall call;
  note_pace(call);
  if (help(seq)) return;
  if (RunningScope::any()) {
    return wait_inside(seq, reason, [this, seq] { return mark_waited(seq); });
  }
  if (help_with_collectives(seq)) return;
  wait_for_worker(seq, reason, std::max(kSpinNs, spin_ns(seq)));
}

void Waiting::wait_for_all(Seqs seqs, const char* reason) {
  std::sort(seqs.begin(), seqs.end(), std::greater<Seq>());
  for (Seq seq : seqs) wait(seq, reason);
}

/// Without helping: when the window is full its workers are busy, and a second thread that runs
/// instructions only gets in their way.
void Waiting::wait_for_worker(Seq seq, const char* reason, int64_t spin_ns) {
  PacedCall call;
  note_pace(call);
  note_awaited(seq);
  host_wait(reason, [this, seq] { return mark_waited(seq); }, spin_ns);
}

/// How long the thread looks for its end before it sleeps.
int64_t Waiting::spin_ns(Seq seq) {
  std::lock_guard<std::mutex> lock(window_.issue_mutex());  // keeps the slot's header in place
  return window_.in_flight(seq) ? awaited_spin_ns(window_.slot_of(seq).header.stream->device()) : 0;
}

/// A wait for work of the cpu is no code of the thread's own. A wait for another device counts as
/// own code: a worker of the cpu gets ahead meanwhile.
void Waiting::note_pace(PacedCall& call) {
  if (devices_.state(Device{}).in_flight() > 0) call.note();
}

/// A thread that stops waiting at the same time may take this hint away.
void Waiting::note_awaited(Seq seq) {
  const Seq awaited = window_.last_awaited(board_);
  if (awaited == kNoneAwaited || awaited < seq) board_.set_last_awaited(seq);
}

/// A slot that moved on while its list was read has been launched, too.
bool Waiting::is_launched(Seq seq) {
  if (!window_.in_flight(seq)) return true;
  return window_.slot_of(seq).reached(Milestone::launched) || !window_.in_flight(seq);
}

void Waiting::wait_until_launched(Seq seq, const char* reason) {
  const auto done = [this, seq] { return is_launched(seq); };
  if (done()) return;
  if (RunningScope::any()) return wait_inside(seq, reason, done);
  Board::Watching watching(board_);
  host_wait(reason, done);
}

void Waiting::wait_for_value(const Dependence& object, const char* reason) {
  Seq last_write;
  {
    std::lock_guard<std::mutex> lock(window_.issue_mutex());
    last_write = window_.last_write(object);
  }
  wait(last_write, reason);
  if (FailurePtr failure = object.failure()) throw OperationError(*failure);
}

void Waiting::wait_for_write(const Dependence& object, int64_t deadline, const char* reason) {
  Seq seq;
  {
    std::lock_guard<std::mutex> lock(window_.issue_mutex());
    seq = window_.last_write(object);
  }
  if (deadline == kNoDeadline) return wait(seq, reason);
  if (!window_.in_flight(seq)) return;
  const auto done = [this, seq, deadline] { return mark_waited(seq) || now_ns() >= deadline; };
  if (RunningScope::any()) return wait_inside(seq, reason, done, deadline);
  host_wait(reason, done, kSpinNs, deadline);
}

void Waiting::wait_for_access(const Dependence& object, const char* reason) {
  small_work_.note_look();
  Seqs accesses;
  {
    std::lock_guard<std::mutex> lock(window_.issue_mutex());
    const Operand write{const_cast<Dependence*>(&object), Access::write};
    window_.predecessors(&write, 1, &accesses);
  }
  wait_for_all(accesses, reason);
}

// A write is done before it leaves the window. Its successors are released in between, and a
// thread that waited for one of them may ask meanwhile.
bool Waiting::is_ready(const Dependence& object) {
  std::lock_guard<std::mutex> lock(window_.issue_mutex());
  const Seq last_write = window_.last_write(object);
  return !window_.in_flight(last_write) || window_.slot_of(last_write).reached(Milestone::done);
}

Seqs Waiting::all_in_flight(const DeviceState* on) {
  std::lock_guard<std::mutex> lock(window_.issue_mutex());
  return window_.all_in_flight(on);
}

/// The instructions of other ranks may need one that this thread has not issued yet.
Seqs Waiting::issued_by_partner() {
  Seqs own;
  for (Seq seq : Partner::issued([this](Seq each) { return window_.in_flight(each); })) {
    own.push_back(seq);
  }
  return own;
}

/// A partner waits for its own instructions.
void Waiting::drain(std::optional<Device> device) {
  if (RunningScope::any()) {
    fail(ErrorKind::runtime, "[synchronize] called inside a function, which is in flight itself");
  }
  small_work_.note_look();
  DeviceState* state = device ? &devices_.state(*device) : nullptr;
  if ((state ? state->in_flight() : devices_.in_flight()) == 0) return;
  wait_for_all(Partner::joined() ? issued_by_partner() : all_in_flight(state), "synchronize");
}

Seq Waiting::oldest_in_flight() {
  if (RunningScope::any()) return 0;
  const Seqs in_flight = all_in_flight(nullptr);
  return in_flight.empty() ? 0 : *std::min_element(in_flight.begin(), in_flight.end());
}

Slot* Waiting::find_moving(bool pools_are_held) {
  for (Seq seq : window_.all_in_flight()) {
    Slot& slot = window_.slot_of(seq);
    const SlotState state = slot.state.load(std::memory_order_acquire);
    if (state == SlotState::waiting || state == SlotState::calling || state == SlotState::pending) {
      continue;
    }
    Stream& stream = *slot.header.stream;
    const bool is_stopped = stream.is_pool()
                                ? pools_are_held || static_cast<Pool&>(stream.runner()).is_full()
                                : stream.is_stopped();
    if (state != SlotState::ready || !is_stopped) return &slot;
  }
  return nullptr;
}

/// With the issue mutex: of the instructions up to `last`, the youngest that does not wait for a
/// function which has returned and not completed; 0: there is none. Predecessors are older than
/// their successors.
Seq Waiting::youngest_but_pending(Seq last) {
  Seqs in_flight = window_.all_in_flight();
  std::sort(in_flight.begin(), in_flight.end());
  std::vector<bool> held(window_.size());
  Seq youngest = 0;
  for (Seq seq : in_flight) {
    if (seq > last) break;
    Slot& slot = window_.slot_of(seq);
    bool is_held = slot.state.load(std::memory_order_acquire) == SlotState::pending;
    for (int i = 0; i < slot.edge_count && !is_held; ++i) {
      const Seq predecessor = slot.edge(i).predecessor;
      is_held = window_.in_flight(predecessor) && held[predecessor & (window_.size() - 1)];
    }
    held[seq & (window_.size() - 1)] = is_held;
    if (!is_held) youngest = seq;
  }
  return youngest;
}

Seq Waiting::last_issued() {
  std::lock_guard<std::mutex> lock(window_.issue_mutex());
  return window_.last_seq();
}

// A function may return meanwhile and not complete, and then what is awaited may be behind it.
void Waiting::drain_but_pending(Seq last, const char* reason) {
  if (RunningScope::any()) {
    fail(ErrorKind::runtime, "[", reason, "] called inside a function, which is in flight itself");
  }
  Board::Watching watching(board_);
  for (;;) {
    const int64_t noted = board_.pending_noted();  // before the look, so that none is missed
    Seq seq;
    {
      std::lock_guard<std::mutex> lock(window_.issue_mutex());
      seq = youngest_but_pending(last);
    }
    if (seq == 0) return;
    note_awaited(seq);
    host_wait(reason, [&] { return !window_.in_flight(seq) || board_.pending_noted() != noted; });
  }
}

}  // namespace ofl::vm
