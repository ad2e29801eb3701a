// Waiting: how threads of the host wait for the machine. All of it goes through host_wait().
//
//   help: run short ready work ──► spin: work for the helpers ──► sleep, and look for an interrupt
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vm/devices/device_table.h"
#include "vm/small_work/small_work.h"
#include "vm/waiting/host_hooks.h"

namespace ofl::vm {

inline constexpr int64_t kNoDeadline = INT64_MAX;

/// Any thread. `reason` is for traces and errors. Every wait may throw Error(interrupted).
class Waiting {
 public:
  /// `report` lists everything in flight, for a thread that waits in vain.
  Waiting(DeviceTable& devices, SmallWork& small_work, std::function<std::string()> report)
      : devices_(devices),
        board_(devices.board()),
        window_(devices.window()),
        small_work_(small_work),
        report_(std::move(report)) {}

  void set_hooks(std::unique_ptr<HostHooks> hooks) { hooks_ = std::move(hooks); }
  HostHooks& hooks() { return *hooks_; }

  /// Until the instruction has retired.
  void wait(Seq seq, const char* reason);
  /// Until all of these have retired. The youngest comes first: its predecessors may then run as
  /// one with it, and most of the others end before it.
  void wait_for_all(Seqs seqs, const char* reason);
  /// Until the instruction, of a device with queues, has been launched, and so has taken everything
  /// that it takes from the host.
  void wait_until_launched(Seq seq, const char* reason);
  /// Until the last write of `object` has retired; throws OperationError when it is poisoned.
  void wait_for_value(const Dependence& object, const char* reason);
  /// Until the last write of `object` has retired, failed or not, or until `deadline` (of
  /// now_ns()).
  void wait_for_write(const Dependence& object, int64_t deadline, const char* reason);
  /// Until every access to `object` has retired. Its memory may then be changed from outside.
  void wait_for_access(const Dependence& object, const char* reason);
  /// Until everything issued so far (to one device) has retired.
  void drain(std::optional<Device> device);
  /// Until all in flight up to `last` waits for functions that have returned and not completed.
  void drain_but_pending(Seq last, const char* reason);
  /// Inside a function: until all in flight up to `last` wait for functions.
  void drain_but_functions(Seq last, const char* reason);
  /// The youngest instruction so far.
  Seq last_issued();

  bool is_ready(const Dependence& object);
  /// The oldest instruction in flight, which will give its memory back. 0: there is none, or the
  /// caller is inside a host function, whose end some instructions wait for.
  Seq oldest_in_flight();

  // --- for threads that issue
  /// Until the device has room for another instruction.
  void wait_for_room(DeviceState& state);
  /// Until a slot of the window is free, at least for a moment.
  void wait_for_slot();
  /// The thread that has issued this collective, which is `attended`, sees to it for a moment.
  void attend(Stream& stream, Seq seq);

  /// Retires what has finished on streams that stand still in code of the user; true: they have
  /// more that is launched.
  bool retire_on_stopped();
  /// With the issue mutex: an active instruction, or null; it will move on without help. Functions
  /// in their calls may wait for anything, and so may their pools if they are `held` or full, and
  /// what is ready behind them on a stream of a device.
  Slot* find_moving(bool pools_are_held);

 private:
  using Done = std::function<bool()>;
  static constexpr int64_t kSpinNs = 100'000;  // to sleep and be woken costs half of it

  /// Of a thread that waits, maybe in several calls of host_wait(): when it last saw that something
  /// had retired.
  struct HangWatch {
    int64_t retired = 0;
    int64_t since = 0;  // 0: it has not looked yet
  };

  /// The one place where a host thread blocks. `done` is called with the board's mutex held.
  void host_wait(const char* reason, const Done& done, int64_t spin_ns = kSpinNs,
                 int64_t deadline = kNoDeadline) {
    HangWatch watch;
    host_wait(reason, done, &watch, spin_ns, deadline);
  }
  void host_wait(const char* reason, const Done& done, HangWatch* watch, int64_t spin_ns,
                 int64_t deadline);
  std::optional<Error> spin_until(const Done& done, void* token, int64_t spin_ns);
  std::optional<Error> sleep_until(const char* reason, const Done& done, void* token,
                                   HangWatch* watch, int64_t deadline);
  void watch_for_hang(HangWatch* watch);
  std::optional<Error> require_threads();
  bool is_lost();
  bool mark_waited(Seq seq);
  bool help(Seq seq);
  void wait_for_worker(Seq seq, const char* reason, int64_t spin_ns = kSpinNs);
  int64_t spin_ns(Seq seq);
  void note_pace(PacedCall& call);
  void note_awaited(Seq seq);
  bool is_launched(Seq seq);
  Seq youngest_but_pending(Seq last);
  Seqs all_in_flight(const DeviceState* on);

  // In room.cpp.
  bool wait_a_while(Seq seq, HangWatch* watch);
  Seq middle_in_flight(const DeviceState* state, int64_t span);
  bool could_have_stayed(DeviceState& state);

  // In attending.cpp.
  void see_to(Stream& stream, Seq seq, int64_t moving_ns);
  bool help_with_collectives(Seq seq);

  // In wait_inside.cpp.
  std::vector<Seq> collect_awaited(Seq seq);
  void wait_inside(Seq seq, const char* reason, const Done& done, int64_t deadline = kNoDeadline);
  Seq next_ready(const std::vector<Seq>& awaited);
  bool run_awaited(const std::vector<Seq>& awaited);
  void wait_for_partners(const std::atomic<int64_t>& joined, int64_t most);
  Seqs issued_by_partner();
  void wait_for_slot_inside();

  DeviceTable& devices_;
  Board& board_;
  Window& window_;
  SmallWork& small_work_;
  std::function<std::string()> report_;
  std::unique_ptr<HostHooks> hooks_ = std::make_unique<HostHooks>();
};

}  // namespace ofl::vm
