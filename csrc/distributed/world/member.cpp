#include "distributed/world/member.h"

#include <optional>
#include <utility>

#include "base/error.h"
#include "ep/communicators/threads.h"
#include "vm/board/running_scope.h"

namespace ofl::distributed {

namespace {

/// A rank that is a thread.
struct Entered {
  std::shared_ptr<Member> member;
  std::optional<vm::Partner> partner;
};
thread_local Entered entered;

/// The world of a process that has entered none. A group of one rank posts nothing, so any thread
/// may use it.
const std::shared_ptr<Member>& alone() {
  static const auto* const member = new std::shared_ptr<Member>(
      std::make_shared<Member>(std::move(ep::make_thread_world(1).front())));
  return *member;
}

}  // namespace

Member::Member(std::unique_ptr<ep::World> world)
    : world_(std::move(world)), joined_(std::make_shared<std::atomic<int64_t>>(0)) {}

Device Member::device(DeviceType type, int count) const {
  const int index = type == DeviceType::cpu || count == 0 ? 0 : rank() % count;
  return Device{type, static_cast<int16_t>(index)};
}

void Member::require_in_world(const Placement& placement) const {
  for (int64_t id = 0; id < placement.size(); ++id) {
    if (placement.rank_at(id) < size()) continue;
    fail(ErrorKind::value, "[placement] rank ", placement.rank_at(id),
         " is not in this world, which has ", size(), size() == 1 ? " rank" : " ranks");
  }
}

const std::shared_ptr<Group>& Member::group(const std::vector<int32_t>& ranks) {
  std::shared_ptr<Group>& group = groups_[ranks];
  if (!group) {
    group = std::make_shared<Group>();
    group->communicator = world_->group(ranks);
  }
  return group;
}

void Member::leave(vm::VirtualMachine& machine) {
  for (const auto& entry : groups_) machine.wait(entry.second->last, "end of a rank");
  world_->leave();
}

std::shared_ptr<Member> Member::current() {
  if (vm::RunningScope::any()) {
    fail(ErrorKind::runtime,
         "[distributed] a function of the machine cannot communicate: it has no place in the order "
         "that all ranks have in common");
  }
  return entered.member ? entered.member : alone();
}

std::shared_ptr<Member> Member::exchange(std::shared_ptr<Member> member) {
  entered.partner.reset();
  if (member) entered.partner.emplace(*member->joined());
  return std::exchange(entered.member, std::move(member));
}

}  // namespace ofl::distributed
