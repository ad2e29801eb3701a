#include "vm/waiting/memory.h"

#include <chrono>

#include "vm/board/running_scope.h"
#include "vm/devices/device_table.h"

namespace ofl::vm {

namespace {

/// How long memory is waited for of functions that may serve others.
constexpr std::chrono::seconds kPatience{5};

/// The calling thread is in a function, and nothing else of this stream begins before it ends.
bool is_held_up_here(const Stream& stream) {
  return stream.calls_in_turn() &&
         RunningScope::any_of([&](const Slot& slot) { return slot.header.stream == &stream; });
}

/// An instruction that may give memory back is running, or is ready on a stream whose runner is not
/// starved. None may that waits for memory or for another instruction, nor a function that the
/// calling thread is in, nor what comes behind it.
/// `patient`: a function may that serves others.
bool others_run(DeviceTable& devices, const Slot& self, bool patient) {
  for (Stream* stream : devices.streams()) {
    const bool may_run = !stream->starved() && !is_held_up_here(*stream);
    if (may_run && stream->has_ready()) return true;
  }
  Window& window = devices.window();
  for (size_t i = 0; i < window.size(); ++i) {
    Slot& slot = window.slot_at(i);
    if (&slot == &self || slot.seq.load(std::memory_order_acquire) == 0) continue;
    const SlotState state = slot.state.load(std::memory_order_acquire);
    const bool active =
        state == SlotState::running || state == SlotState::calling || state == SlotState::launched;
    if (!active || slot.starved.load(std::memory_order_seq_cst)) continue;
    const Seq stalled = slot.stalled.load(std::memory_order_seq_cst);
    if (stalled == kInTurn || (stalled == kServes && !patient)) continue;
    if (stalled != kServes && window.in_flight(stalled)) continue;
    if (!RunningScope::contains(slot.name())) return true;
  }
  return false;
}

}  // namespace

int64_t retired_count(const LaunchContext& context) {
  return context.stream.state().table.retired_count();
}

bool wait_for_memory(LaunchContext& context, int64_t before) {
  DeviceTable& devices = context.stream.state().table;
  Board& board = devices.board();
  if (context.stream.in_order()) {
    context.stream.policy().poll(true);  // the events that the sync will complete
    context.queue.sync();
    while (context.stream.policy().poll(true)) {
    }
  }
  if (devices.retired_count() != before) return true;
  Board::Watching watching(board);
  context.slot.starved.store(true, std::memory_order_seq_cst);
  context.stream.set_starved(true);
  board.notify_all();  // others that starve see one runner less
  bool retired = false;
  bool patient = true;
  const auto is_over = [&] {
    // The count last: an instruction that has stopped running meanwhile was counted before.
    const bool alone = !others_run(devices, context.slot, patient);
    retired = devices.retired_count() != before;
    return retired || alone;
  };
  if (!board.sleep_until(is_over, kPatience)) {
    patient = false;
    board.sleep_until(is_over);
  }
  context.stream.set_starved(false);
  context.slot.starved.store(false, std::memory_order_seq_cst);
  return retired;
}

}  // namespace ofl::vm
