// Back-pressure: threads that issue wait for room on a device, or for a slot of the window.
#include <algorithm>

#include "vm/board/running_scope.h"
#include "vm/progress/partner.h"
#include "vm/waiting/waiting.h"

namespace ofl::vm {

namespace {
constexpr const char* kReason = "room in the window";
constexpr size_t kRemembered = 8192;       // of what a partner has issued: more than are in flight
constexpr int64_t kWhileNs = 100'000'000;  // long enough for a look for Ctrl-C
}  // namespace

/// Looks at the instructions in flight (on `state`, or anywhere): the oldest in the younger half of
/// a window of `span`, else the youngest of the rest, or 0. The number of a slow instruction may be
/// older than the ring is long.
Seq Waiting::middle_in_flight(const DeviceState* state, int64_t span) {
  std::lock_guard<std::mutex> lock(window_.issue_mutex());
  const Seq last = window_.last_seq();
  const Seq middle = last > static_cast<Seq>(span / 2) ? last - static_cast<Seq>(span / 2) : 0;
  Seq above = 0, below = 0;
  for (Seq seq : window_.all_in_flight(state)) {
    if (seq >= middle && (above == 0 || seq < above)) above = seq;
    if (seq < middle) below = std::max(below, seq);
  }
  return above ? above : below;
}

/// Whether a thread without code of its own had better wait for everything in flight, because its
/// work can stay with it again afterwards. Not if it would wait for host functions or copies, too.
bool Waiting::could_have_stayed(DeviceState& state) {
  if (!state.device.is_host() || HostPace::of_this_thread().is_busy()) return false;
  std::lock_guard<std::mutex> lock(window_.issue_mutex());
  const Seqs in_flight = window_.all_in_flight(&state);
  return std::all_of(in_flight.begin(), in_flight.end(), [&](Seq seq) {
    return info(window_.slot_of(seq).header.stream->type()).computes;
  });
}

void Waiting::wait_for_room(DeviceState& state) {
  const int64_t most = board_.options.max_in_flight.load(std::memory_order_relaxed);
  const int64_t most_bytes = board_.options.max_bytes.load(std::memory_order_relaxed);
  // A host function that issues must not wait for room that only its own end can make.
  if (RunningScope::any()) return;
  if (const auto* joined = Partner::joined()) return wait_for_partners(*joined, most);
  if (state.has_room(most, most_bytes, 1)) return;
  if (could_have_stayed(state)) {
    // Not for instructions that other threads issue meanwhile.
    Seqs present = all_in_flight(&state);
    std::sort(present.begin(), present.end(), std::greater<Seq>());
    for (Seq seq : present) wait_for_worker(seq, kReason);  // most others end before the youngest
  }
  bool is_slow = false;
  HangWatch watch;
  while (!state.has_room(most, most_bytes, is_slow ? 1 : 2)) {
    const Seq middle = middle_in_flight(&state, std::min(most, state.in_flight()));
    if (middle == 0) return;  // all of it retired meanwhile
    is_slow = !wait_a_while(middle, &watch);
  }
}

// What fills a device may wait, in the end, for an instruction that this thread has yet to issue.
// So a partner waits only while it is ahead of others itself: while it has joined something that
// has not ended. A partner that has joined nothing is never held up, and what it has in flight ends
// without others. If all of them wait, each has joined something, and of these instructions the
// first that not all have joined is missing from a thread that does not wait here; there is none.
// They wait when half of the window is in use, so that the one that does not finds a slot.
void Waiting::wait_for_partners(const std::atomic<int64_t>& joined, int64_t most) {
  if (Partner::issued_count() > kRemembered) static_cast<void>(issued_by_partner());
  const int64_t limit = std::min(most, static_cast<int64_t>(window_.size()) / 2);
  const auto done = [&] {
    return joined.load(std::memory_order_acquire) == 0 || devices_.in_flight() < limit;
  };
  if (done()) return;
  Board::Watching watching(board_);
  host_wait(kReason, done);
}

void Waiting::wait_for_slot() {
  if (RunningScope::any()) return wait_for_slot_inside();
  HangWatch watch;
  while (window_.is_full()) {
    const Seq middle = middle_in_flight(nullptr, static_cast<int64_t>(window_.size()));
    if (middle) wait_a_while(middle, &watch);
  }
}

/// Until the instruction has retired: true. It may be a function that waits for the calling thread;
/// so false after a while, in which others may have retired.
bool Waiting::wait_a_while(Seq seq, HangWatch* watch) {
  const int64_t deadline = now_ns() + kWhileNs;
  PacedCall call;
  note_pace(call);
  note_awaited(seq);
  const auto done = [&] { return mark_waited(seq) || now_ns() >= deadline; };
  host_wait(kReason, done, watch, kSpinNs, deadline);
  return !window_.in_flight(seq);
}

}  // namespace ofl::vm
