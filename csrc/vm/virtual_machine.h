// VirtualMachine: issue, dispatch, retire, synchronize. The pusher appends, the finisher triggers:
// the issuing thread finds an instruction's predecessors, the thread that finishes one releases the
// successors. There is no scheduler thread.
//
//   issue ─► window (linked) ─► stream's list ─► worker, or a waiting thread that helps ─► retired
//      └──► InlineScope: small, ready work of a host stream runs at once in the calling thread
//
//   issue(instruction, operands):                             # in the issuing thread
//     with the issue mutex:
//       slot = a free place of the window, with the next number
//       for each operand: predecessors += its last write, and its reads since if this one writes
//       for each predecessor: link an edge (slot.pending += 1), unless it is already far enough
//       for each operand: note this instruction as its last write, or as one of its reads
//     slot.pending -= 1                                       # the issuer's own; 0: dispatch
//   dispatch(slot): push it to its stream's list; wake the worker
//   run(slot): body.launch()                                  # with the stream's baton
//   retire(slot):                                             # host: now; queue: its event is done
//     body.retired(failure); poison the results if it failed
//     for each edge from slot: successor.pending -= 1; 0: dispatch(successor)
//     free the slot; wake the threads that wait for it
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "vm/process/fork.h"
#include "vm/process/report.h"
#include "vm/process/shared_ranges.h"
#include "vm/process/shutdown.h"
#include "vm/small_work/inline_scope.h"

namespace ofl::vm {

class VirtualMachine {
 public:
  explicit VirtualMachine(DeviceTable::FindDevice find_device, size_t window_slots = 2048);
  ~VirtualMachine() { shutdown(); }

  // --- set up, before the first instruction
  void set_hooks(std::unique_ptr<HostHooks> hooks) { waiting_.set_hooks(std::move(hooks)); }
  void set_format_site(std::function<std::string(SiteId)> format) {
    board_.format_site = std::move(format);
  }
  Options& options() { return board_.options; }
  /// Any time: of pools whose functions compute.
  void set_pool_threads(int threads) { devices_.set_pool_threads(threads); }
  const Options& options() const { return board_.options; }

  /// Any thread. Streams are made at first use and live as long as the machine.
  Stream& stream(Device device, StreamType type) { return devices_.stream(device, type); }
  DeviceState& state(Device device) { return devices_.state(device); }

  /// Any thread. Queues `body` (moved from) to run on header.stream after everything that its
  /// operands order before it. Returns at once unless the device's bound is reached (then waits,
  /// without the lock of the layer above) or in naive mode. Throws Error(interrupted), or
  /// Error(runtime) where the system refuses the stream's first thread; then `body` is untouched.
  template <typename Body>
  Seq issue(const Instruction& header, const Operand* operands, int count, Body&& body) {
    using Value = std::decay_t<Body>;
    static_assert(sizeof(Value) <= kBodyBytes && alignof(Value) <= 64, "body does not fit a slot");
    static_assert(std::is_nothrow_move_constructible<Value>::value, "a slot is entered or not");
    return issue_body(header, operands, count, &body, [](void* slot, void* from) {
      new (slot) Value(std::move(*static_cast<Value*>(from)));
    });
  }
  /// After everything issued so far and before everything issued later.
  void barrier(SiteId site);

  // --- see SmallWork
  bool is_tiny(double cost) const { return small_work_.is_tiny(cost); }
  bool is_small(double cost) const { return small_work_.is_small(cost); }
  bool stays_here(Work work, Company company, PacedCall& call, bool by_parts = false) {
    return small_work_.stays_here(work, company, call, by_parts);
  }
  void note_look() { small_work_.note_look(); }
  void note_handed_over() { small_work_.note_handed_over(); }
  LookGuess& looks() { return small_work_.looks(); }

  // --- see Waiting
  void wait(Seq seq, const char* reason) { waiting_.wait(seq, reason); }
  void wait_until_launched(Seq seq, const char* reason) {
    waiting_.wait_until_launched(seq, reason);
  }
  void wait_for_value(const Dependence& object, const char* reason) {
    waiting_.wait_for_value(object, reason);
  }
  void wait_for_write(const Dependence& object, int64_t deadline, const char* reason) {
    waiting_.wait_for_write(object, deadline, reason);
  }
  void wait_for_access(const Dependence& object, const char* reason) {
    waiting_.wait_for_access(object, reason);
  }
  void attend(Stream& stream, Seq seq) { waiting_.attend(stream, seq); }
  bool is_ready(const Dependence& object) { return waiting_.is_ready(object); }
  Seq oldest_in_flight() { return waiting_.oldest_in_flight(); }
  void drain(std::optional<Device> device) { waiting_.drain(device); }
  /// Inside a function: until what does not wait for functions has retired.
  void drain_but_functions(const char* reason) {
    waiting_.drain_but_functions(waiting_.last_issued(), reason);
  }
  void drain_but_pending(const char* reason) {
    waiting_.drain_but_pending(waiting_.last_issued(), reason);
  }
  /// Drains (one device); then throws the first failure that no synchronize has thrown yet.
  void synchronize(std::optional<Device> device) {
    drain(device);
    board_.failures.throw_first(device);
  }

  /// Work may be done where it is asked for, without an instruction: nobody observes instructions,
  /// and no thread records them.
  bool may_act_at_once() const { return board_.may_act_at_once(); }
  bool is_recorded() const { return board_.is_recorded(); }
  void note_recording(bool begins) { board_.note_recording(begins); }
  Observer* observer() const { return board_.observer(); }
  void add_observer(Observer& observer) { board_.add_observer(observer); }
  void remove_observer(Observer& observer) { board_.remove_observer(observer); }
  void note_failure(const FailurePtr& failure) { board_.failures.note(failure); }
  void forget_failure(const FailurePtr& failure) { board_.failures.forget(failure); }
  Window& window() { return window_; }
  SharedRanges& shared_ranges() { return shared_ranges_; }
  Fork& fork() { return fork_; }

  std::string dump() { return list_in_flight(devices_); }
  Stats stats() { return collect_stats(devices_); }

  /// Waits for everything in flight and ends the workers; functions issue no further ones.
  /// From then on the machine is naive, also if the wait was interrupted: then the workers go on,
  /// and Error(interrupted) is thrown.
  void shutdown() {
    ending_.store(true, std::memory_order_relaxed);
    shut_down(devices_, waiting_);
  }

 private:
  using Construct = void (*)(void* slot, void* from);

  Seq issue_body(const Instruction& header, const Operand* operands, int count, void* body,
                 Construct construct);
  Seq issue_naive(const Instruction& header, const Operand* operands, int count, void* body,
                  Construct construct);
  Slot* enter(const Instruction& header, const Operand* operands, int count, void* body,
              Construct construct, const Seqs& predecessors, bool at_once);
  void collect_predecessors(const Instruction& header, const Operand* operands, int count,
                            Seqs* out);
  bool is_naive() const;
  bool is_naive(const Instruction& header) const;

  Board board_;
  Window window_;
  DeviceTable devices_;
  SmallWork small_work_;
  Waiting waiting_;
  SharedRanges shared_ranges_;
  Fork fork_;
  std::atomic<bool> ending_{false};  // shutdown() has begun
};

}  // namespace ofl::vm
