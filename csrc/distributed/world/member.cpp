#include "distributed/world/member.h"

#include <optional>
#include <utility>

#include "base/error.h"
#include "base/fingerprint.h"
#include "ep/communicators/threads.h"
#include "ep/device.h"
#include "vm/board/running_scope.h"

namespace ofl::distributed {

namespace {

/// A rank that is a thread.
struct Entered {
  std::shared_ptr<Member> member;
  std::optional<vm::Partner> partner;
};
thread_local Entered entered;

/// The world of the process, once it is known.
struct Process {
  void (*start)() = nullptr;
  bool is_known = false, is_forked = false;
  int64_t forks = 0;
  std::shared_ptr<Member> member;
};

/// With the GIL. Threads may outlive the variables of the program.
Process& process() {
  static Process* const the_process = new Process;
  return *the_process;
}

[[noreturn]] void fail_forked() {
  fail(ErrorKind::runtime, "[distributed] this process was forked from a rank, and is none");
}

/// The world of a process that has entered none. A group of one rank posts nothing, so any thread
/// may use it.
const std::shared_ptr<Member>& alone() {
  static const auto* const member = new std::shared_ptr<Member>(
      std::make_shared<Member>(std::move(ep::make_thread_world(1).front()), 0));
  return *member;
}

}  // namespace

Member::Member(std::unique_ptr<ep::World> world, int32_t local_rank)
    : world_(std::move(world)),
      local_rank_(local_rank),
      forks_(process().forks),
      joined_(std::make_shared<std::atomic<int64_t>>(0)) {}

Device Member::device(DeviceType type, int count) const {
  const int index = type == DeviceType::cpu || count == 0 ? 0 : local_rank_ % count;
  return Device{type, static_cast<int16_t>(index)};
}

void Member::require_in_world(const Placement& placement) const {
  for (int64_t id = 0; id < placement.size(); ++id) {
    if (placement.rank_at(id) < size()) continue;
    fail(ErrorKind::value, "[placement] rank ", placement.rank_at(id),
         " is not in this world, which has ", size(), size() == 1 ? " rank" : " ranks");
  }
}

bool Member::is_of_parent() const { return size() > 1 && forks_ != process().forks; }

void Member::require_thread() {
  if (size() == 1) return;
  if (is_of_parent()) fail_forked();
  const std::thread::id own = std::this_thread::get_id();
  if (thread_ == std::thread::id()) thread_ = own;
  if (thread_ == own) return;
  fail(ErrorKind::runtime, "[distributed] rank ", rank(),
       " communicates from one thread, and this is another: between two there is no order that all "
       "ranks could have in common");
}

const std::shared_ptr<Group>& Member::group(const std::vector<int32_t>& ranks) {
  require_thread();
  std::shared_ptr<Group>& group = groups_[ranks];
  if (!group) {
    group = std::make_shared<Group>();
    group->communicator = world_->group(ranks);
    Fingerprint key;
    key.add_all(ranks);
    group->key = key.value();
  }
  return group;
}

DeviceQueue& Member::queue_of(ep::Device& device) {
  DeviceQueue& own = queues_[device.id().index];
  if (!own.queue) {
    own = {device.create_stream(ep::QueuePriority::high), std::make_shared<ep::ExchangeOrder>()};
  }
  return own;
}

std::vector<std::string> Member::connections() const {
  std::vector<std::string> all;
  for (const auto& [ranks, group] : groups_) {
    for (const auto& [type, devices] : group->devices) {
      const Placement& named = Placement::of(type, Dims{static_cast<int64_t>(ranks.size())}, ranks);
      all.push_back(concat(named.str(), ": ", devices.how));
    }
  }
  return all;
}

void Member::finish(vm::VirtualMachine& machine) {
  for (const auto& entry : groups_) machine.wait(entry.second->last, "end of a rank");
}

void Member::leave() {
  for (const auto& entry : groups_) {
    for (const auto& devices : entry.second->devices) {
      ep::Peers* const peers = devices.second.peers.get();
      if (!peers) continue;
      if (entry.second->communicator->aborted()) {
        peers->abort();  // nobody knows who still comes
      } else {
        peers->leave();
      }
    }
    entry.second->devices.clear();
  }
  queues_.clear();
  world_->leave_together();
}

std::shared_ptr<Member> Member::current() {
  if (vm::RunningScope::any()) {
    fail(ErrorKind::runtime,
         "[distributed] a function of the machine cannot communicate: it has no place in the order "
         "that all ranks have in common");
  }
  if (entered.member) {
    if (entered.member->is_of_parent()) fail_forked();
    return entered.member;
  }
  Process& own = process();
  if (own.is_forked) fail_forked();
  if (!own.is_known && own.start) own.start();
  return own.member ? own.member : alone();
}

// A function of the machine may name a device, as it does not communicate by that; but it cannot
// enter a world.
Device Member::default_device(DeviceType type, int (*count)()) {
  if (entered.member) {
    return entered.member->is_of_parent() ? Device{type, 0} : entered.member->device(type, count());
  }
  const Process& own = process();
  if (!own.is_known && !own.is_forked) {
    if (vm::RunningScope::any()) {
      fail(ErrorKind::runtime,
           "[device] a function of the machine cannot enter the world of its "
           "rank; call flow.distributed.rank() before, or name a device with its index");
    }
    if (own.start) own.start();
  }
  return own.member ? own.member->device(type, count()) : Device{type, 0};
}

void Member::set_start(void (*start)()) { process().start = start; }

void Member::set_process(std::shared_ptr<Member> member) {
  process().member = std::move(member);
  process().is_known = true;
}

void Member::forget_process() {
  Process& own = process();
  ++own.forks;
  own.is_forked = own.is_forked || own.member != nullptr;
  own.member = nullptr;
}

std::shared_ptr<Member> Member::exchange(std::shared_ptr<Member> member) {
  entered.partner.reset();
  if (member) entered.partner.emplace(*member->joined());
  return std::exchange(entered.member, std::move(member));
}

}  // namespace ofl::distributed
