// Stream: the machine's lane for one (Device, StreamType), with its policy, its queue of ready
// instructions and its worker. Who holds the baton, and only he, runs and retires its instructions.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "ep/device.h"
#include "vm/gathering.h"
#include "vm/instruction.h"
#include "vm/open_group.h"
#include "vm/stream_policy.h"
#include "vm/worker.h"

namespace ofl::vm {

class VirtualMachine;
struct DeviceState;

enum class StreamType : uint8_t { compute, h2d, d2h, ccl, pinned_compute, host_func, barrier };

struct StreamTypeInfo {
  const char* name;
  bool on_host;      // runs in host threads even when its device has queues
  bool record_each;  // an event after every instruction: somebody will need exactly that point
  bool helpable;     // a waiting host thread may run its instructions
  ep::QueuePriority priority;
};

inline constexpr StreamTypeInfo kStreamTypes[] = {
    {"compute", false, false, true, ep::QueuePriority::normal},
    {"h2d", false, true, true, ep::QueuePriority::high},
    {"d2h", false, true, true, ep::QueuePriority::high},
    {"ccl", false, false, true, ep::QueuePriority::normal},
    {"pinned_compute", true, false, true, ep::QueuePriority::normal},
    {"host_func", true, false, false, ep::QueuePriority::normal},
    {"barrier", true, false, false, ep::QueuePriority::normal},
};
inline constexpr int kStreamTypeCount = sizeof(kStreamTypes) / sizeof(kStreamTypes[0]);
inline constexpr const StreamTypeInfo& info(StreamType type) {
  return kStreamTypes[static_cast<int>(type)];
}

class Stream {
 public:
  /// `id` is dense over the machine's streams.
  Stream(VirtualMachine& machine, DeviceState& state, StreamType type, int id);
  ~Stream();

  StreamType type() const { return type_; }
  int id() const { return id_; }
  const std::string& name() const { return name_; }  // "mock:0 h2d"
  ep::Device& device() const { return device_; }
  DeviceState& state() const { return state_; }
  VirtualMachine& machine() const { return machine_; }
  StreamPolicy& policy() const { return *policy_; }
  ep::Stream& queue() const { return *queue_; }
  Worker& worker() { return worker_; }

  /// Any thread: puts an instruction whose predecessors are where they must be into the queue, in
  /// order, and marks it dispatched. Wakes the worker.
  void dispatch(Slot* slot);
  bool has_ready() const {
    return ready_.load(std::memory_order_seq_cst) || taken_.load(std::memory_order_seq_cst);
  }

  std::mutex& baton() { return baton_; }
  /// With the baton: runs the next ready instruction, and what can run as one with it unless it was
  /// issued after `last`; false when there is none or the cost is above `max_cost`. `lingers`: it
  /// may wait a little for more.
  bool run_next(double max_cost, Seq last, bool lingers);
  /// With the baton, of a host stream: runs an instruction that was ready and is marked as running.
  void run_taken(Slot* slot);
  // For groups, with the baton: the list of what is ready and not yet run, oldest first.
  void pull_ready();
  Slot* first_taken() const { return taken_.load(std::memory_order_relaxed); }
  void remove_taken(Slot* slot);
  void put_back(Slot* slot);
  const GroupState& groups() const { return groups_; }
  /// Something is launched, or held back, and not yet retired.
  bool busy() const { return open_ || policy_->busy(); }

  /// Naive mode: takes the baton and runs, to its end, an instruction that is not in the queue,
  /// unless a host function that waited for it has done so meanwhile.
  void run_in_caller(Slot* slot, Seq seq);
  /// Naive mode: the calling thread has the baton.
  bool is_held_here() const {
    return baton_owner_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  /// With the baton: retires a slot, releases its successors and wakes who waits for it.
  void retire(Slot* slot, const FailurePtr& failure);
  /// With the baton: closes milestone `launched` and tells the body.
  void launched(Slot* slot);

  /// Its runner waits for memory. Any thread reads.
  bool starved() const { return starved_.load(std::memory_order_seq_cst); }
  void set_starved(bool starved) { starved_.store(starved, std::memory_order_seq_cst); }

  /// Any thread: instructions retired so far, and the bytes that they had pinned.
  int64_t retired_count() const { return retired_.load(std::memory_order_seq_cst); }
  int64_t retired_bytes() const { return retired_bytes_.load(std::memory_order_seq_cst); }

  /// In the child after fork: forgets the dead thread, which may have had the baton.
  void after_fork_in_child(bool baton_lost);

 private:
  Edge* enqueue(Slot* slot);
  struct Batch;
  void push_ready(Slot* youngest, Slot* oldest);
  bool run_group(Slot* first, double max_cost, Seq last, bool lingers);
  std::unique_ptr<Group> begin_group(Slot* first);
  bool run_open(bool lingers);
  void run_soon(Slot* slot);
  static void release(Edge* edges, uint64_t position, Stream* retiring = nullptr);

  VirtualMachine& machine_;
  DeviceState& state_;
  ep::Device& device_;
  const StreamType type_;
  const int id_;
  const std::string name_;
  std::unique_ptr<ep::Stream> queue_;
  std::unique_ptr<StreamPolicy> policy_;

  std::mutex dispatch_mutex_;  // in-order streams: makes closing a list and queueing one step
  alignas(64) std::atomic<Slot*> ready_{nullptr};  // youngest first; seq_cst against asleep_

  alignas(64) std::mutex baton_;       // held by the thread that runs this stream's instructions
  std::atomic<Slot*> taken_{nullptr};  // oldest first, not yet run; written with the baton
  Slot* last_taken_ = nullptr;         // while there is a first one
  GroupState groups_;
  std::unique_ptr<OpenGroup> open_;             // of a device queue; with the baton
  std::atomic<std::thread::id> baton_owner_{};  // in naive mode; a thread only looks for itself
  std::atomic<bool> starved_{false};
  std::atomic<int64_t> retired_{0};        // written with the baton; seq_cst against watchers_
  std::atomic<int64_t> retired_bytes_{0};  // the same

  Worker worker_;  // last: its thread ends before the rest goes
};

}  // namespace ofl::vm
