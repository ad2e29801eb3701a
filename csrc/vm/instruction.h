// An instruction is a value: a header, the objects it reads and writes, and a body of plain bytes
// with a table of functions. It lives in a slot of the in-flight window from issue to retirement:
//
//   issue ──► waiting ──► ready ──► running ──► launched ──► (slot moves on)
//        linked to        in its     on a        in a device
//        predecessors     stream     thread      queue
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/small_vector.h"
#include "ep/event_pool.h"
#include "vm/dependence.h"

namespace ofl::vm {

class Group;
struct Joining;
class Pending;
class Stream;
struct Slot;

enum class Access : uint8_t { read, write };

struct Operand {
  Dependence* object;
  Access access;
  bool by_host = false;  // code of the user uses it in the host's memory, when it is called
};

/// The details of an instruction that a trace shows.
struct Description {
  static constexpr int kMaxDims = 6;
  int ndim = -1;  // -1: no shape
  int64_t dims[kMaxDims];
  const char* dtype = nullptr;
  uint64_t bytes = 0;        // that it reads and writes
  Seq group = 0;             // the name of the group's first instruction; 0: it ran alone
  uint64_t saved_bytes = 0;  // results of the group that were never in memory; of the first only
};

/// The surroundings that a body may use while it launches.
struct LaunchContext {
  ep::Stream& queue;
  Stream& stream;
  Slot& slot;
};

/// The functions of one kind of body. `launch` may throw; the others must not.
struct InstructionType {
  const char* kind;  // "op", "copy", "release", "host function", "barrier", ...
  /// Runs the work, or enqueues it.
  void (*launch)(void* body, LaunchContext& context);
  /// Launched or skipped at `position` of the stream's queue: lets go of the queue's own memory.
  void (*launched)(void* body, Stream& stream, uint64_t position);
  /// Finished, failed or skipped (`failure`): lets go of everything and ends the body's lifetime.
  void (*retired)(void* body, const FailurePtr& failure);
  void (*describe)(const void* body, Description* out);
  /// Makes a group that begins with this instruction; null: it runs alone. No function: all do.
  std::unique_ptr<Group> (*group)(Slot* slot) = nullptr;
  /// The error that the device found in work that has run. No function: it reports none this way.
  std::optional<Error> (*failure)(const void* body) = nullptr;
  /// Judges the operands itself: tells what has failed, once the queue has run it.
  void (*settle)(void* body, const Slot& slot) = nullptr;
  /// Its results exist when it is done, not when its queue has run it: the host does a part.
  bool ends_on_host = false;
  /// It runs code of the user, which may need a lock of a thread that forks.
  bool calls_out = false;

  const Joining* joining = nullptr;  // others take part in it (progress/joining.h)

  // --- of functions of a pool
  /// It ends when this says so, and has returned. No function, or null: it ends when it returns.
  std::shared_ptr<Pending> (*pending)(void* body) = nullptr;
  /// In naive mode, too, it is queued, and nobody waits for it.
  bool is_queued_always = false;
  /// Called by a thread of the pool that has run some and goes on to something else: lets go of
  /// what it kept from one to the next.
  void (*rest)() = nullptr;
};

struct Instruction {
  const InstructionType* type = nullptr;
  const char* name = "";  // outlives the machine
  Stream* stream = nullptr;
  SiteId site = 0;
  uint64_t bytes = 0;        // memory that it pins while in flight
  double cost = 0;           // estimated work in float32 additions; decides which thread runs it
  int32_t priority = 0;      // in a pool: the highest of those that are ready runs first
  bool holds_memory = true;  // that it may give back when it retires
  bool is_attended = false;  // a collective that its issuer sees to: no worker is woken for it
  /// The names of its variables, for reports, or null. Read during the issue only.
  const std::shared_ptr<const std::string>* variables = nullptr;
};

/// The point that a predecessor must reach before its successor may be dispatched.
enum class Milestone : uint8_t { dispatched, launched, done };
inline constexpr int kMilestoneCount = 3;

/// A successor waiting for a predecessor; lives in the successor's slot.
struct Edge {
  Edge* next = nullptr;
  Slot* successor = nullptr;
  Slot* predecessor_slot = nullptr;
  Stream* predecessor_stream = nullptr;
  Seq predecessor = 0;
  uint64_t position = 0;  // of the predecessor in its queue, once launched
  Milestone milestone = Milestone::done;
};

/// Marks a list of successors whose milestone has been reached.
inline Edge closed_edge;

/// calling: in code of the user, which may wait for anything.
/// pending: others must do something before it can end.
enum class SlotState : uint8_t { waiting, ready, running, calling, pending, launched };
inline constexpr const char* kSlotStateNames[] = {"waiting", "ready",         "running",
                                                  "calling", "not completed", "launched"};

inline constexpr Seq kWaited = Seq{1} << 63;
/// Of Slot::stalled: it may serve others for as long as the program runs; it is in the hands of a
/// thread that runs another instruction first.
inline constexpr Seq kServes = kWaited - 1, kInTurn = kWaited - 2;

inline constexpr size_t kBodyBytes = 1792;
inline constexpr size_t kHotBytes = 192;  // of a slot: up to its operands

/// One place of the in-flight window. Fields without a remark are written by the issuer before the
/// slot is published and constant until it moves on.
struct alignas(64) Slot {
  /// The instruction in it, with kWaited set while a host thread sleeps until it moves on; 0: free.
  /// Exchanged with 0 as the last step of retirement.
  std::atomic<Seq> seq{0};
  std::atomic<int32_t> pending{0};  // edges not yet released, plus one while being issued
  std::atomic<SlotState> state{SlotState::waiting};  // for reports, the starvation rule, fork
  std::atomic<bool> starved{false};                  // running, but waiting for memory
  /// Running, but it gives no memory back before this instruction retires; kServes, kInTurn.
  std::atomic<Seq> stalled{0};
  /// Lists of successors by milestone; kClosed once it is reached.
  std::atomic<Edge*> successors[kMilestoneCount];

  Slot* next = nullptr;  // link in its stream's queue (owner: the queue)
  Instruction header;
  SmallVector<Operand, 4> operands;
  int edge_count = 0;
  Edge inline_edges[3];
  std::vector<Edge> more_edges;
  // Guarded by the issue mutex:
  Seq waits_for = 0;                             // what its function waits for now
  std::shared_ptr<const std::string> variables;  // as in Instruction

  // Owned by the thread that holds the stream's baton.
  uint64_t position = 0;  // in its queue, from 1; written before milestone `launched` is closed
  FailurePtr failure;
  ep::EventLease started, ended;     // only while observed
  std::optional<Error> async_error;  // written by device work before its event is done
  Seq group = 0;                     // as in Description
  uint64_t saved_bytes = 0;          // as in Description

  alignas(64) std::byte body[kBodyBytes];

  /// Asks for the cache lines that every instruction writes.
  void prefetch() const {
    const auto* bytes = reinterpret_cast<const std::byte*>(this);
    for (size_t line = 0; line < kHotBytes; line += 64) __builtin_prefetch(bytes + line, 1);
    __builtin_prefetch(body, 1);
  }

  Seq name() const { return seq.load(std::memory_order_relaxed) & ~kWaited; }
  /// The instruction of this name is in it: it has not retired.
  bool holds(Seq name) const { return (seq.load(std::memory_order_acquire) & ~kWaited) == name; }
  Edge& edge(int i) { return i < 3 ? inline_edges[i] : more_edges[i - 3]; }

  /// Closes one list, once, when its milestone is reached; the successors in issue order.
  Edge* close(Milestone milestone);
  bool reached(Milestone milestone) const;
  /// Another queue will wait until it is launched.
  bool is_followed() const {
    return successors[static_cast<int>(Milestone::launched)].load(std::memory_order_relaxed);
  }

  Description describe() const;
  /// The failure that it begins with: that of an operand, unless it judges these itself.
  FailurePtr given_failure() const { return header.type->settle ? nullptr : operand_failure(); }
  /// The earliest failure among the objects that it touches; null: none has failed.
  FailurePtr operand_failure() const;
  /// `failure` is the value of everything that it writes.
  void poison_results(const FailurePtr& value) const;
};

}  // namespace ofl::vm
