#include "vm/gathering.h"

#include <algorithm>
#include <thread>

#include "base/cost.h"
#include "vm/virtual_machine.h"

namespace ofl::vm {

namespace {

constexpr int kLookAhead = 64;               // ready instructions looked at
constexpr int64_t kLongestQuietNs = 50'000;  // without a newcomer
constexpr double kMostLinger = 1.0 / 8;      // of the time that the group will take
constexpr double kMostQuiet = 1.0 / 16;
constexpr int kVain = 4;    // lingers in a row that brought nothing: from then on ...
constexpr int kRetry = 16;  // ... only every so many groups linger

bool contains(const std::vector<Slot*>& slots, const Slot* slot) {
  return std::find(slots.begin(), slots.end(), slot) != slots.end();
}

}  // namespace

bool GroupState::begin_lingering() {
  if (vain >= kVain && ++skipped < kRetry) return false;
  skipped = 0;
  return true;
}

bool GroupState::may_grow(double work_ns, int64_t begin, int64_t grown) {
  const int64_t now = now_ns();
  const auto quiet = std::min(kLongestQuietNs, static_cast<int64_t>(work_ns * kMostQuiet));
  return now - grown < quiet && now - begin < static_cast<int64_t>(work_ns * kMostLinger);
}

Gathering::Gathering(Stream& stream, GroupState& state, std::unique_ptr<Group> group, Slot* first,
                     Seq last)
    : stream_(stream),
      state_(state),
      group_(std::move(group)),
      members_{first},
      settled_{first},
      last_(last),
      cost_(first->header.cost) {}

void Gathering::collect() {
  while (!group_->full()) {
    const Candidate next = next_candidate();
    if (!next.slot) return;
    settled_.push_back(next.slot);
    take(next);
  }
}

/// The oldest instruction that could run right after the members: it is ready, or all that it waits
/// for are members. While a thread waits for an instruction, none that is younger; and none that is
/// younger than one that waits for a member and cannot join: what it waits for would stay in memory
/// longer than in program order.
Gathering::Candidate Gathering::next_candidate() {
  std::vector<Candidate>& candidates = candidates_;
  candidates.clear();
  for (Slot* member : members_) add_successors(member, &candidates);
  stream_.pull_ready();
  int looks = 0;
  for (Slot* slot = stream_.first_taken(); slot && looks < kLookAhead; slot = slot->next, ++looks) {
    if (!contains(settled_, slot)) candidates.push_back({slot, 0});
  }
  // What is older than the first does not wait for this group.
  const Seq awaited = stream_.machine().last_awaited();
  const Seq last = awaited < members_.front()->name() ? last_ : std::min(last_, awaited);
  Candidate oldest{nullptr, 0};
  Seq left_out = refused_;
  for (const Candidate& candidate : candidates) {
    const Seq name = candidate.slot->name();
    if (candidate.edges && !waits_for_members_only(candidate)) {
      // 0: it is just being issued, after all others.
      if (name != 0) left_out = std::min(left_out, name);
    } else if (name <= last && (!oldest.slot || name < oldest.slot->name())) {
      oldest = candidate;
    }
  }
  return oldest.slot && oldest.slot->name() < left_out ? oldest : Candidate{nullptr, 0};
}

// The member is not retired, so nobody takes from its list; issuers push in front of what is read.
void Gathering::add_successors(Slot* member, std::vector<Candidate>* candidates) const {
  constexpr int kDone = static_cast<int>(Milestone::done);
  const Edge* edge = member->successors[kDone].load(std::memory_order_acquire);
  for (; edge; edge = edge->next) {
    Slot* slot = edge->successor;
    if (contains(settled_, slot)) continue;
    const auto known = std::find_if(candidates->begin(), candidates->end(),
                                    [&](const Candidate& c) { return c.slot == slot; });
    if (known == candidates->end()) {
      candidates->push_back({slot, 1});
    } else {
      ++known->edges;
    }
  }
}

// Its count is that of its open edges, and one for the issuer while he links it. The edges from
// members are open, as only we could release them, and there is one for each member. So when the
// count is theirs, the issuer is through (acquire: what he wrote is visible), nothing else is open,
// and nobody but us will touch it any more.
bool Gathering::waits_for_members_only(const Candidate& candidate) const {
  return candidate.slot->header.stream == &stream_ &&
         candidate.slot->pending.load(std::memory_order_acquire) == candidate.edges;
}

/// A member that was not ready gets a guard, so that the retirement of the others does not dispatch
/// it.
void Gathering::take(const Candidate& candidate) {
  Slot* slot = candidate.slot;
  if (operand_failure(slot) || !group_->add(slot)) {
    if (candidate.edges) refused_ = std::min(refused_, slot->name());
    return;
  }
  if (candidate.edges) {
    slot->pending.fetch_add(1, std::memory_order_relaxed);
    waiting_.push_back(slot);
  } else {
    stream_.remove_taken(slot);
  }
  slot->state.store(SlotState::running, std::memory_order_relaxed);
  members_.push_back(slot);
  cost_ += slot->header.cost;
}

// A group that takes long is worth a short wait: what is issued meanwhile may need its results,
// which then need no memory. Not while a thread waits: it does not issue.
void Gathering::linger() {
  if (!state_.begin_lingering()) return;
  const size_t before = members_.size();
  const int64_t begin = now_ns();
  int64_t grown = begin;
  size_t size = before;
  while (!group_->full()) {
    if (stream_.machine().last_awaited() != kNoneAwaited) return;
    if (!GroupState::may_grow(cost_ * kAdditionNs, begin, grown)) break;
    pause_briefly();
    collect();
    if (members_.size() == size) continue;
    size = members_.size();
    grown = now_ns();
  }
  state_.end_lingering(members_.size() > before);
}

bool Gathering::run() {
  Observer* observer = stream_.machine().observer();
  const int64_t begin = observer ? now_ns() : 0;
  LaunchContext context{stream_.queue(), stream_, *members_.front()};
  bool launched = true;
  std::optional<Error> error;
  FailurePtr failure = attempt(members_.front(), [&] { launched = group_->launch(context); });
  if (!launched) return false;
  if (failure) {
    const Slot* culprit = members_[group_->failed()];
    Failure named = *failure;
    named.op = culprit->header.name;
    named.site = culprit->header.site;
    named.seq = culprit->name();
    failure = std::make_shared<const Failure>(std::move(named));
  }
  state_.count(members_.size(), group_->savings());
  if (observer) report(observer, begin);
  // In the order of joining: what releases an edge comes before the slot that the edge lies in.
  for (Slot* member : members_) stream_.retire(member, failure);
  return true;
}

void GroupState::count(size_t members, const Group::Savings& savings) {
  const auto add = [](std::atomic<uint64_t>& counter, uint64_t value) {
    counter.store(counter.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
  };
  add(groups, 1);
  add(instructions, members);
  add(results, static_cast<uint64_t>(savings.results));
  add(bytes, static_cast<uint64_t>(savings.bytes));
}

void Gathering::report(Observer* observer, int64_t begin) {
  const int64_t end = now_ns();
  for (Slot* member : members_) {
    Description description;
    member->header.type->describe(member->body, &description);
    description.group = members_.front()->name();
    if (member == members_.front()) description.saved_bytes = group_->savings().bytes;
    observer->ran(member->header, member->name(), description, true, begin, end);
  }
}

void Gathering::disband() {
  for (auto it = members_.rbegin(); it != members_.rend(); ++it) {
    Slot* slot = *it;
    if (contains(waiting_, slot)) {
      slot->state.store(SlotState::waiting, std::memory_order_relaxed);
      slot->pending.fetch_sub(1, std::memory_order_relaxed);
    } else {
      stream_.put_back(slot);
    }
  }
}

}  // namespace ofl::vm
