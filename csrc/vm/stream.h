// Stream: the machine's lane for one (Device, StreamType), with its policy, its queue of ready
// instructions and its worker. Only the thread that holds the baton runs and retires the stream's
// instructions.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "ep/device.h"
#include "vm/board/board.h"
#include "vm/queue/ready_list.h"
#include "vm/queue/stream_type.h"
#include "vm/runner.h"
#include "vm/stream_policy.h"

namespace ofl::vm {

struct DeviceState;

class Stream final : public Runner::Work {
 public:
  using MakePolicy = std::unique_ptr<StreamPolicy>(Stream&);
  using MakeRunner = std::unique_ptr<Runner>(Stream&);

  /// `id` is dense over the machine's streams.
  Stream(Board& board, ep::Device& device, DeviceState& state, StreamType type, int id,
         const std::function<MakePolicy>& make_policy,
         const std::function<MakeRunner>& make_runner);
  ~Stream() override;

  StreamType type() const { return type_; }
  int id() const { return id_; }
  const std::string& name() const { return name_; }  // "mock:0 h2d"
  ep::Device& device() const { return device_; }
  DeviceState& state() const { return state_; }
  Board& board() const { return board_; }
  /// Its instructions go into a device queue, in the order of their dispatch. Queues of one device
  /// wait for each other without the host.
  bool in_order() const { return in_order_; }
  StreamPolicy& policy() const { return *policy_; }
  ep::Stream& queue() const { return *queue_; }
  Runner& runner() { return *runner_; }
  /// Its functions are called without the baton: its policy is a PoolPolicy.
  bool is_pool() const { return info(type_).threads != Threads::worker; }
  /// While code of the user runs on it, nothing else begins.
  bool calls_in_turn() const {
    const Threads threads = info(type_).threads;
    return threads == Threads::worker || threads == Threads::one;
  }

  /// Any thread: puts an instruction whose predecessors are where they must be into the list of
  /// ready ones, in order, and marks it dispatched. Wakes the worker, unless the caller sees to it.
  void dispatch(Slot* slot, bool wakes = true) { release(enqueue(slot, wakes), 0); }
  bool has_ready() const override { return ready_.any(); }
  std::mutex& baton() override { return baton_; }

  // --- with the baton
  bool run_next(const Turn& turn) { return policy_->run_next(turn); }
  bool run_ready(bool lingers) override;
  bool retire_finished(bool all) override;
  bool busy() const override { return policy_->busy(); }
  bool moves() const override { return policy_->moves(); }
  /// Retires a slot, releases its successors and wakes the threads that wait for it.
  void retire(Slot* slot, const FailurePtr& failure);
  /// Closes milestone `launched` and tells the body.
  void launched(Slot* slot);

  // --- with the baton, for policies: the list of ready instructions
  ReadyList& ready() { return ready_; }
  /// Takes the first one and marks it as running; null: there is none, or it costs more.
  Slot* take_next(double max_cost);
  void put_back(Slot* slot);

  /// Naive mode: runs, to its end, an instruction that is not in the list; with the baton, unless
  /// the stream is a pool.
  void run_in_caller(Slot* slot);

  /// Code of the user stops the stream (pool/call_out.h). Any thread; a stale answer is one that
  /// was true a moment ago.
  bool is_stopped() const { return calls_.load(std::memory_order_seq_cst) > 0; }
  /// The instruction that has stopped it last. Only while it is stopped.
  Seq calling() const { return is_stopped() ? calling_.load(std::memory_order_seq_cst) : 0; }
  void begin_call(Seq seq) {
    calling_.store(seq, std::memory_order_seq_cst);
    calls_.fetch_add(1, std::memory_order_seq_cst);
  }
  void end_call() { calls_.fetch_sub(1, std::memory_order_seq_cst); }
  void forget_calls() { calls_.store(0, std::memory_order_seq_cst); }

  /// The thread that runs its instructions waits for memory. Any thread reads.
  bool starved() const { return starved_.load(std::memory_order_seq_cst); }
  void set_starved(bool starved) { starved_.store(starved, std::memory_order_seq_cst); }

  /// Any thread: the instructions retired so far, and the bytes that they had pinned.
  int64_t retired_count() const { return retired_.load(std::memory_order_seq_cst); }
  int64_t retired_bytes() const { return retired_bytes_.load(std::memory_order_seq_cst); }

  /// In the child after fork: forgets the dead threads.
  void after_fork_in_child() { runner_->after_fork_in_child(); }

 private:
  Edge* enqueue(Slot* slot, bool wakes = true);
  struct Batch;
  void run_soon(Slot* slot);
  static void release(Edge* edges, uint64_t position, Stream* retiring = nullptr);

  Board& board_;
  ep::Device& device_;
  DeviceState& state_;
  const StreamType type_;
  const int id_;
  const bool in_order_;
  const std::string name_;
  std::unique_ptr<ep::Stream> queue_;
  std::unique_ptr<StreamPolicy> policy_;

  std::mutex dispatch_mutex_;  // in-order streams: makes closing a list and queueing one step
  ReadyList ready_;
  alignas(64) std::mutex baton_;  // held by the thread that runs this stream's instructions
  std::atomic<bool> starved_{false};
  std::atomic<Seq> calling_{0};      // written with the baton
  std::atomic<int> calls_{0};        // the same
  std::atomic<int64_t> retired_{0};  // written with the baton; seq_cst against Board::Watching
  std::atomic<int64_t> retired_bytes_{0};  // the same

  std::unique_ptr<Runner> runner_;  // last: its threads end before the rest goes
};

FailurePtr make_failure(const Slot* slot, const Error& error);

/// Calls `step`. An exception becomes the slot's failure.
template <typename Step>
FailurePtr attempt(const Slot* slot, const Step& step) {
  const std::optional<Error> error = catch_error(step);
  return error ? make_failure(slot, *error) : nullptr;
}

}  // namespace ofl::vm
