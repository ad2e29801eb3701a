#include "vm/open_group.h"

#include "base/cost.h"
#include "vm/virtual_machine.h"

namespace ofl::vm {

namespace {

/// A device does so many float32 additions while a core does one: H200, 4.8 TB/s, against some 12
/// bytes in 0.3 ns.
constexpr double kDeviceSpeed = 100;
/// The one that runs, and one behind it that is launched: then the device has enough to do.
constexpr size_t kEnoughLaunched = 2;

}  // namespace

OpenGroup::OpenGroup(Stream& stream, QueuePolicy& policy, GroupState& state,
                     std::unique_ptr<Group> group, Slot* first)
    : stream_(stream),
      policy_(policy),
      state_(state),
      group_(std::move(group)),
      members_{first},
      lingers_(state.begin_lingering()),
      begin_(now_ns()),
      grown_(begin_),
      cost_(first->header.cost) {}

/// In queue order only: what is ready here counts on everything before it being launched first.
void OpenGroup::collect() {
  while (!complete_ && !group_->full()) {
    stream_.pull_ready();
    Slot* slot = stream_.first_taken();
    if (!slot) return;
    if (!slot->header.type->group || operand_failure(slot) || !group_->add(slot)) {
      complete_ = true;
      return;
    }
    slot->state.store(SlotState::running, std::memory_order_seq_cst);
    stream_.remove_taken(slot);
    members_.push_back(slot);
    cost_ += slot->header.cost;
    grown_ = now_ns();
  }
  complete_ = true;
}

bool OpenGroup::is_due() const {
  if (complete_ || stream_.machine().last_awaited() != kNoneAwaited) return true;
  if (policy_.unfinished() >= kEnoughLaunched) return false;
  return !lingers_ || !GroupState::may_grow(cost_ * kAdditionNs / kDeviceSpeed, begin_, grown_);
}

/// Groups begin and end where the program says, not where the clock does: what a program repeats
/// then gives the same groups, for which there are kernels.
void OpenGroup::cut() {
  const size_t kept = group_->segment();
  if (kept >= members_.size()) return;
  for (size_t i = members_.size(); i > kept; --i) stream_.put_back(members_[i - 1]);
  members_.resize(kept);
  group_ = members_.front()->header.type->group(members_.front());
  // What it took before it takes again; if not, they run one by one.
  for (size_t i = 1; group_ && i < kept; ++i) {
    if (!group_->add(members_[i])) group_ = nullptr;
  }
}

void OpenGroup::launch() {
  if (lingers_) state_.end_lingering(members_.size() > 1);
  cut();
  if (group_ && members_.size() > 1 && policy_.run_group(members_, *group_)) {
    state_.count(members_.size(), group_->savings());
    return;
  }
  for (Slot* member : members_) policy_.run(member);
}

}  // namespace ofl::vm
