#include "vm/fusion/open_group.h"

#include "base/cost.h"

namespace ofl::vm {

namespace {

/// Float32 additions of a device in the time that a core takes for one: an H200 moves 4.8 TB/s, and
/// a core about 12 bytes in 0.3 ns.
constexpr double kDeviceSpeed = 100;
/// A device has enough to do with one part that runs, and one that is launched behind it.
constexpr size_t kEnoughLaunched = 2;

}  // namespace

OpenGroup::OpenGroup(Stream& stream, Grouping& grouping, std::unique_ptr<Group> group, Slot* first)
    : stream_(stream),
      grouping_(grouping),
      group_(std::move(group)),
      members_{first},
      lingers_(grouping.begin_lingering()),
      begin_(now_ns()),
      grown_(begin_),
      cost_(first->header.cost) {}

/// In queue order only: an instruction that is ready here relies on everything before it being
/// launched first.
void OpenGroup::collect() {
  while (!complete_ && !group_->full()) {
    stream_.ready().pull();
    Slot* slot = stream_.ready().first();
    if (!slot) return;
    if (!slot->header.type->group || !Grouping::add(*group_, slot)) break;
    slot->stalled.store(kInTurn, std::memory_order_relaxed);
    slot->state.store(SlotState::running, std::memory_order_seq_cst);
    stream_.ready().remove(slot);
    members_.push_back(slot);
    cost_ += slot->header.cost;
    grown_ = now_ns();
  }
  complete_ = true;
}

bool OpenGroup::is_due(size_t unfinished) const {
  if (complete_ || grouping_.last_awaited() != kNoneAwaited) return true;
  if (unfinished >= kEnoughLaunched) return false;
  return !lingers_ || !Grouping::may_grow(cost_ * kAdditionNs / kDeviceSpeed, begin_, grown_);
}

// Groups begin and end where the program decides, not where the clock does. A repeated part of a
// program then gives the same groups, for which there are kernels already.
void OpenGroup::close() {
  if (lingers_) grouping_.end_lingering(members_.size() > 1);
  const size_t kept = group_->segment();
  if (kept >= members_.size()) return;
  for (size_t i = members_.size(); i > kept; --i) {
    members_[i - 1]->stalled.store(0, std::memory_order_relaxed);
    stream_.put_back(members_[i - 1]);
  }
  members_.resize(kept);
  group_ = members_.front()->header.type->group(members_.front());
  // The new group takes the members that the old one took; if not, they run one by one.
  for (size_t i = 1; group_ && i < kept; ++i) {
    if (!group_->add(members_[i])) group_ = nullptr;
  }
}

}  // namespace ofl::vm
