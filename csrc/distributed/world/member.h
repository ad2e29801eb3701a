// Member: this rank among all that run the program together. Each rank issues its collectives from
// one thread, in the order that all ranks have in common.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "distributed/layouts/layout.h"
#include "distributed/world/ledger.h"
#include "ep/communicators/devices.h"
#include "vm/progress/joining.h"
#include "vm/progress/partner.h"
#include "vm/virtual_machine.h"

namespace ofl::distributed {

/// How the devices of a group's ranks exchange bytes without the host.
struct DeviceGroup {
  std::shared_ptr<ep::Peers> peers;
  std::shared_ptr<ep::ExchangeOrder> order;        // of this rank's device
  std::shared_ptr<ep::Communicator> communicator;  // null: they do not
  std::string how;         // "NCCL 2.28.0", "through the host: rank 1 has no NCCL"
  bool is_detour = false;  // through the host, and this rank wants it otherwise
};

/// The queue of a device in which it exchanges bytes with those of other ranks.
struct DeviceQueue {
  std::shared_ptr<ep::Stream> queue;
  std::shared_ptr<ep::ExchangeOrder> order;
};

/// Some ranks, among them this one, and the line of their collectives.
struct Group {
  std::shared_ptr<ep::Communicator> communicator;
  std::map<DeviceType, DeviceGroup> devices;  // of the types that the ranks have agreed on
  uint64_t key = 0;                           // of its ranks; the same on each of them
  uint64_t issued = 0;                        // by the member's thread
  vm::Seq last = 0;                           // the last of them
  vm::Line line;  // of those that are posted; with the baton of the ccl stream
};

class Member {
 public:
  /// `local_rank`: among those of its machine. `joined` outlives every instruction that it counts.
  Member(std::unique_ptr<ep::World> world, int32_t local_rank);
  Member(const Member&) = delete;

  int32_t rank() const { return world_->rank(); }
  int32_t size() const { return world_->size(); }
  int32_t local_rank() const { return local_rank_; }
  /// The device of this type that it computes on, of so many.
  Device device(DeviceType type, int count) const;
  /// Error(value) unless its ranks are in the world.
  void require_in_world(const Placement& placement) const;
  /// Of ranks, this one among them, in their order. The thread that asks first is the member's;
  /// Error(runtime) in another one.
  const std::shared_ptr<Group>& group(const std::vector<int32_t>& ranks);
  DeviceQueue& queue_of(ep::Device& device);
  /// "cuda [0, 1]: NCCL 2.28.0": how devices of ranks have exchanged bytes so far.
  std::vector<std::string> connections() const;
  /// Any thread: all that is in flight on any rank, and all that comes, fails with this reason.
  void abort(const std::string& reason) { world_->abort(reason); }
  /// Its program has ended: waits for its collectives. By its thread.
  void finish(vm::VirtualMachine& machine);
  /// Then: it takes part in no others, and a rank that is a process waits for the ends of the
  /// others. Without the GIL, as other ranks of the process leave, too.
  void leave();
  Ledger& ledger() { return ledger_; }
  /// Its instructions in flight in which others take part.
  const std::shared_ptr<std::atomic<int64_t>>& joined() const { return joined_; }

  /// The calling thread's, else the process's; a world of one rank where that has entered none.
  /// Error(runtime) while the thread is in a function of the machine: such a function has no place
  /// in the order of collectives. With the GIL, as what follows.
  static std::shared_ptr<Member> current();
  /// The device of this type that the calling thread's rank computes on; in no world, the first.
  /// Enters the world, as current() does; a forked child is in none. `count`: of the devices.
  static Device default_device(DeviceType type, int (*count)());
  /// Asked for the process's world before it is known: `start` says set_process(), or throws.
  static void set_start(void (*start)());
  /// The process's world; null: it has entered none.
  static void set_process(std::shared_ptr<Member> member);
  /// In a forked child: this process is none of the ranks that its parent had.
  static void forget_process();
  /// The calling thread is this rank, or in no world (null); what it was before.
  static std::shared_ptr<Member> exchange(std::shared_ptr<Member> member);

 private:
  /// A rank of a process that this one was forked from; one that is alone may go on.
  bool is_of_parent() const;
  void require_thread();

  const std::unique_ptr<ep::World> world_;
  const int32_t local_rank_;
  const int64_t forks_;     // of this process and those that it comes from, when it was made
  std::thread::id thread_;  // that communicates, once one has; with the GIL
  const std::shared_ptr<std::atomic<int64_t>> joined_;
  std::map<int, DeviceQueue> queues_;  // by the index of the device, whose type has peers
  std::map<std::vector<int32_t>, std::shared_ptr<Group>> groups_;
  Ledger ledger_;
};

}  // namespace ofl::distributed
