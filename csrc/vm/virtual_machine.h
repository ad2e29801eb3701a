// VirtualMachine: issue, dispatch, retire, sync, drain. The pusher appends, the finisher triggers:
// the issuing thread finds an instruction's predecessors, the thread that finishes one releases the
// successors. There is no scheduler thread.
//
//   issue ─► window (linked) ─► stream queue ─► worker, or a waiting thread that helps ─► retired
//      └──► InlineScope: small, ready work of a host stream runs at once in the calling thread
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/cost.h"
#include "ep/threads/helper_pool.h"
#include "vm/host_pace.h"
#include "vm/observer.h"
#include "vm/shared_ranges.h"
#include "vm/stream.h"
#include "vm/window.h"

namespace ofl::vm {

inline constexpr int kMaxDevicesPerType = 64;

/// The machine's view of one device.
struct DeviceState {
  DeviceState(ep::Device& device, const DeviceState* older) : device(device), older(older) {}
  ep::Device& device;
  const DeviceState* const older;  // made before this one
  std::array<std::atomic<Stream*>, kStreamTypeCount> streams{};
  // Written with the issue mutex. What is in flight is this less what the streams have retired: the
  // two sides count in different places, so that neither waits for the other's cache line.
  std::atomic<int64_t> issued{0};        // instructions
  std::atomic<int64_t> issued_bytes{0};  // that they pin

  // What had been retired when somebody last looked; enough to know that there is room.
  std::atomic<int64_t> seen_retired{0};
  std::atomic<int64_t> seen_retired_bytes{0};

  int64_t in_flight() const;
  int64_t bytes_in_flight() const;
  /// Less than a `part`-th of these is in flight, and of what keeps its queues busy.
  bool has_room(int64_t count, int64_t bytes, int64_t part);
};

/// What a blocking call does about the lock of the layer above (the GIL). Called from any thread.
class HostHooks {
 public:
  virtual ~HostHooks() = default;
  /// Lets go of the lock if the calling thread has it; a token for `acquire`.
  virtual void* release() { return nullptr; }
  virtual void acquire(void* token) { (void)token; }
  /// Looks for an interrupt (Ctrl-C) without keeping the lock; the error to throw, or nullopt.
  virtual std::optional<Error> interrupt(void* token) {
    (void)token;
    return std::nullopt;
  }
  /// The layer above ends: other threads do not come back from its functions.
  virtual bool ends() { return false; }
};

/// Whether instructions that belong together run as one.
enum class Fusion : uint8_t { never, where_it_pays, always };

struct Options {
  std::atomic<bool> naive{false};  // run everything in the calling thread, in order
  /// Work up to here runs in the calling thread, if it can run at once and its result is likely to
  /// be looked at next: some 50 us, what it costs to hand it to a thread that sleeps and to wait
  /// for it. In float32 additions.
  std::atomic<double> inline_cost{163840};
  std::atomic<Fusion> fusion{Fusion::where_it_pays};
  std::atomic<int64_t> max_in_flight{1024};  // instructions a device: high-water mark; low is half
  std::atomic<int64_t> max_bytes{int64_t{1} << 30};  // pinned by them, a device: high-water mark
  std::atomic<double> hang_timeout{0};  // seconds without a retirement until a report; 0: never
};

/// Instructions of host streams that the calling thread is running, with the streams' batons (a
/// host function may issue and look; it does not wait for itself).
class RunningScope {
 public:
  RunningScope(Seq seq, Stream& stream);
  ~RunningScope();
  RunningScope(const RunningScope&) = delete;
  static bool contains(Seq seq);
  static bool any();
  /// Of the innermost; there is one.
  static Stream* stream();

 private:
  const Seq seq_;
  Stream& stream_;
  RunningScope* const outer_;
};

/// Whether an operation may run as one with others. An awaited one does not, and its result is, as
/// a rule, looked at before the thread has other work.
enum class Company : uint8_t { joinable, alone, awaited };

/// How long threads that are needed at the end of what a device does look for it all the time, so
/// that it is noticed at once: to be woken takes 50 us. Not where the device itself needs the
/// cores.
inline int64_t awaited_spin_ns(const ep::Device& device) {
  return device.runs_host_kernels() ? 0 : 2'000'000;
}

class VirtualMachine {
 public:
  using FindDevice = std::function<ep::Device&(Device)>;
  using FormatSite = std::function<std::string(SiteId)>;

  explicit VirtualMachine(FindDevice find_device, size_t window_slots = 2048);
  ~VirtualMachine();

  // --- set up, before the first instruction
  void set_hooks(std::unique_ptr<HostHooks> hooks) { hooks_ = std::move(hooks); }
  void set_format_site(FormatSite format) { format_site_ = std::move(format); }
  Options& options() { return options_; }
  const Options& options() const { return options_; }
  std::string format_site(SiteId site) const { return format_site_ ? format_site_(site) : "?"; }

  /// Any thread. Streams are made at first use and live as long as the machine.
  Stream& stream(Device device, StreamType type);
  DeviceState& state(Device device);

  /// Any thread. Queues `body` (moved from) to run on header.stream after everything that its
  /// operands order before it. Returns at once unless the device's bound is reached (then waits,
  /// without the lock of the layer above) or in naive mode. Throws Error(interrupted), then `body`
  /// is untouched.
  template <typename Body>
  Seq issue(const Instruction& header, const Operand* operands, int count, Body&& body) {
    using Value = std::decay_t<Body>;
    static_assert(sizeof(Value) <= kBodyBytes && alignof(Value) <= 64, "body does not fit a slot");
    return issue_body(header, operands, count, &body, [](void* slot, void* from) {
      new (slot) Value(std::move(*static_cast<Value*>(from)));
    });
  }

  /// After everything issued so far and before everything issued later.
  void barrier(SiteId site);

  /// Whether work of this cost takes hardly longer than to hand it over. Any thread.
  bool is_small(double cost) const {
    const double most = options_.inline_cost.load(std::memory_order_relaxed);
    if (cost <= kTinyPart * most) return true;  // the common ones: as soon as possible
    if (cost > kSmallPart * most) return false;
    HostPace::of_this_thread().note_small(cost * kAdditionNs);
    return true;
  }
  /// Whether larger work is better done at once by the thread that issues it, too. Any thread;
  /// `call` ends when the work is done or issued.
  ///   - Where threads do not get a core in time, most work stays.
  ///   - An operation that does not run as one with others stays up to twice `inline_cost`, unless
  ///     the thread is busy with code of its own: to hand it over would make everything that needs
  ///     its result wait in a queue, and gain nothing. An awaited one always stays up to six times.
  ///   - Up to `inline_cost`, an operation stays whose result is likely to be looked at next.
  bool stays_here(double cost, Company company, PacedCall& call);
  /// A thread looks at a result; likely to do so again after as much work as now.
  void note_look() {
    const int issued = issued_since_look_.load(std::memory_order_relaxed);
    if (issued == 0) return;
    looks_at_each_.store(issued == 1, std::memory_order_relaxed);
    issued_since_look_.store(0, std::memory_order_relaxed);
  }

  // --- waiting; all of it goes through host_wait()

  /// Until the instruction has retired.
  void wait(Seq seq, const char* reason);
  /// The oldest instruction in flight, which will give its memory back. 0 where there is none, and
  /// inside a host function, for whose end some of them wait.
  Seq oldest_in_flight();
  /// Until the instruction, of a device with queues, has been launched: what it takes from the host
  /// at launch is taken then.
  void wait_until_launched(Seq seq, const char* reason);
  /// Until the last write of `object` has retired; throws OperationError when it is poisoned.
  void wait_for_value(const Dependence& object, const char* reason);
  /// Until everything accessing `object` has retired (its memory may then be changed from outside).
  void wait_for_access(const Dependence& object, const char* reason);
  bool is_ready(const Dependence& object);
  /// See Window::join.
  bool join(Dependence& object, Dependence& to);
  /// Until everything issued so far (to one device) has retired; then throws the first failure not
  /// yet thrown by a synchronize, once.
  void synchronize(std::optional<Device> device);
  /// The same without throwing failures.
  void drain(std::optional<Device> device);

  /// From a body that is launching: memory was refused, when `retired` instructions had retired
  /// (counted before it asked). True when something else has retired since then, so that trying
  /// again makes sense; false when nothing can come back.
  bool wait_for_memory(LaunchContext& context, int64_t retired);
  int64_t retired_count();

  SharedRanges& shared_ranges() { return shared_ranges_; }

  // --- for streams
  Window& window() { return window_; }
  Observer* observer() const { return observer_.load(std::memory_order_acquire); }
  /// Set while nothing is in flight; the observer outlives its use.
  void set_observer(Observer* observer) { observer_.store(observer, std::memory_order_release); }
  void note_failure(const FailurePtr& failure);
  void finished(Slot* slot);
  /// An instruction has reached its milestone `launched`.
  void launched();
  /// The calling thread waits: it works for the helpers of a host device, if they have something.
  bool assist() {
    ep::HelperPool* helpers = helpers_.load(std::memory_order_acquire);
    return helpers && helpers->assist();
  }
  /// When the youngest of the host threads that wait began to; 0 when none does.
  int64_t waited_since_ns() const { return waited_since_.load(std::memory_order_seq_cst); }
  /// The youngest instruction that a host thread waits for, or kNoneAwaited. A hint.
  Seq last_awaited() const {
    const Seq seq = last_awaited_.load(std::memory_order_relaxed);
    return seq != kNoneAwaited && window_.in_flight(seq) ? seq : kNoneAwaited;
  }

  // --- reports
  std::string dump();
  struct Stats {
    uint64_t issued = 0, inlined = 0, retired = 0, host_waits = 0, failures = 0;
    uint64_t groups = 0, grouped = 0, saved_results = 0, saved_bytes = 0;
    int64_t in_flight = 0;
    struct PerStream {
      std::string name;
      uint64_t retired;
      StreamPolicy::Counters counters;
    };
    std::vector<PerStream> streams;
  };
  Stats stats();

  // --- life cycle
  /// Waits for everything in flight and ends the workers; host functions issue no further ones.
  /// From then on the machine is naive, also where the wait was interrupted: then the workers go
  /// on, and Error(interrupted) is thrown.
  void shutdown();
  /// Fork: come to rest, then hold every lock across it, so that the child finds them consistent.
  /// Until then the caller keeps other threads from issuing. Without a before_fork() that returned
  /// the others do nothing.
  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();
  /// In the child, once instructions may be let go: host functions that were in flight at the fork
  /// fail here.
  void fail_lost_host_functions();

 private:
  static constexpr int64_t kSpinNs = 100'000;  // to sleep and be woken costs half of it

  friend class InlineScope;
  using Construct = void (*)(void* slot, void* from);

  Seq issue_body(const Instruction& header, const Operand* operands, int count, void* body,
                 Construct construct);
  Seq issue_naive(const Instruction& header, const Operand* operands, int count, void* body,
                  Construct construct);
  Slot* enter(const Instruction& header, const Operand* operands, int count, void* body,
              Construct construct, const SmallVector<Seq, 16>& predecessors);
  void collect_predecessors(const Instruction& header, const Operand* operands, int count,
                            SmallVector<Seq, 16>* out);
  void collect_in_flight(const DeviceState* state, SmallVector<Seq, 16>* out);
  bool could_have_stayed(DeviceState& state);
  void wait_for_present(DeviceState& state);
  void wait_for_room(DeviceState& state);
  int64_t total_in_flight() const;
  void wait_for_slot();
  void wait_for_worker(Seq seq, const char* reason, int64_t spin_ns = kSpinNs);
  void note_awaited(Seq seq);
  void note_pace(PacedCall& call);
  Seq middle_in_flight(const DeviceState* state, int64_t span);
  void report_issue(const Instruction& header, Seq seq, const Description& description,
                    int64_t begin);

  /// The one place where a host thread blocks. `done` is called with sync mutex held.
  void host_wait(const char* reason, const std::function<bool()>& done, int64_t spin_ns = kSpinNs);
  std::optional<Error> spin_until(const std::function<bool()>& done, void* token, int64_t spin_ns);
  int64_t spin_ns(Seq seq);
  std::optional<Error> sleep_until(const char* reason, const std::function<bool()>& done,
                                   void* token);
  std::vector<Seq> collect_awaited(Seq seq);
  void wait_inside(Seq seq, const char* reason, const std::function<bool()>& done);
  Seq next_ready(const std::vector<Seq>& awaited);
  bool run_awaited(Stream& here, const std::vector<Seq>& awaited);
  void wait_for_slot_inside();
  bool mark_waited(Seq seq);
  bool is_launched(Seq seq);
  bool help(Seq seq);
  bool others_running(const Slot& self);
  void watch_for_hang(int64_t* retired, int64_t* since);
  bool is_lost();
  void refuse_behind_lost_call(Stream& stream);
  Slot* find_moving(std::vector<Stream*>* calling);
  std::vector<Stream*> settle();
  void lock_for_fork();
  void unlock_after_fork();
  bool is_calling_at_fork(Stream* stream) const;
  std::vector<Stream*> streams();
  void notify_all();

  /// While it lives, its thread is told of every launch and retirement.
  struct Watching {
    explicit Watching(std::atomic<int>& watchers) : watchers(watchers) {
      watchers.fetch_add(1, std::memory_order_seq_cst);
      std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    ~Watching() { watchers.fetch_sub(1, std::memory_order_seq_cst); }
    std::atomic<int>& watchers;
  };

  struct Sync {
    std::mutex mutex;  // guards sleeping of host threads
    std::condition_variable changed;
  };

  FindDevice find_device_;
  FormatSite format_site_;
  std::unique_ptr<HostHooks> hooks_ = std::make_unique<HostHooks>();
  Options options_;
  Window window_;
  SharedRanges shared_ranges_{*this};
  std::atomic<Observer*> observer_{nullptr};
  std::atomic<ep::HelperPool*> helpers_{nullptr};  // of the device that has some

  std::atomic<DeviceState*> states_[kDeviceTypeCount][kMaxDevicesPerType] = {};
  // All of them; as none is ever taken away, who has loaded one may follow `older`.
  std::atomic<const DeviceState*> newest_state_{nullptr};
  std::mutex setup_mutex_;  // guards making states and streams, and the two lists
  std::vector<std::unique_ptr<DeviceState>> owned_states_;
  std::vector<std::unique_ptr<Stream>> owned_streams_;

  // Guarded by the issue mutex.
  Seq barrier_ = 0;
  uint64_t issued_ = 0;
  uint64_t inlined_ = 0;

  std::unique_ptr<Sync> sync_ = std::make_unique<Sync>();
  // On a line that issuers do not write to: workers read it at each retirement.
  alignas(64) std::atomic<int> watchers_{
      0};                                // threads that want to see every launch and retirement
  std::atomic<int> waiting_threads_{0};  // threads in host_wait
  std::atomic<int64_t> waited_since_{0};
  std::atomic<Seq> last_awaited_{kNoneAwaited};
  std::atomic<uint64_t> host_waits_{0};

  /// Of Options::inline_cost: 15 us as estimated, which is up to four times what it takes in the
  /// cache. A third of that, and chains of 30 000 elements took longer by the hand-over.
  static constexpr double kSmallPart = 0.3;
  static constexpr double kTinyPart = 0.01;

  // Guesses: threads that issue at the same time spoil each other's.
  std::atomic<int> issued_since_look_{0};  // that is not small, here or handed over; 2: or more
  std::atomic<bool> looks_at_each_{true};

  std::atomic<bool> ending_{false};  // shutdown() has begun

  // By the forking thread.
  bool fork_prepared_ = false;
  std::vector<Stream*> calling_at_fork_;

  std::mutex failures_mutex_;         // guards the fields below
  std::vector<FailurePtr> failures_;  // not yet thrown by synchronize
  uint64_t failure_count_ = 0;
};

/// Small work stays home: while it is alive and true, the calling thread may do the work of an
/// instruction with these operands itself, at once. Holds the issue mutex, so keep it to
/// microseconds.
class InlineScope {
 public:
  InlineScope(VirtualMachine& machine, const Operand* operands, int count);
  ~InlineScope() {
    if (lock_.owns_lock()) ++machine_.inlined_;
  }
  explicit operator bool() const { return lock_.owns_lock(); }
  /// The work was not done here after all.
  void decline() { lock_.unlock(); }
  /// The name that a failure of this work carries: everything issued later comes after it.
  Seq take_seq() { return machine_.window_.pass_over(); }

 private:
  VirtualMachine& machine_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace ofl::vm
