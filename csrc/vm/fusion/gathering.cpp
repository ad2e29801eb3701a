#include "vm/fusion/gathering.h"

#include <algorithm>

#include "base/cost.h"
#include "base/pause.h"

namespace ofl::vm {

namespace {

constexpr int kLookAhead = 64;  // ready instructions looked at

bool contains(const std::vector<Slot*>& slots, const Slot* slot) {
  return std::find(slots.begin(), slots.end(), slot) != slots.end();
}

}  // namespace

Gathering::Gathering(Stream& stream, Grouping& grouping, std::unique_ptr<Group> group, Slot* first,
                     Seq last)
    : stream_(stream),
      grouping_(grouping),
      group_(std::move(group)),
      members_{first},
      settled_{first},
      last_(last),
      cost_(first->header.cost) {}

Gathering::Outcome Gathering::run(const Turn& turn) {
  collect();
  if (turn.lingers) linger();
  if (members_.size() == 1) return Outcome::alone;
  if (cost_ <= turn.max_cost && launch()) return Outcome::ran;
  Slot* const first = members_.front();
  disband();
  if (cost_ > turn.max_cost) return Outcome::put_back;
  stream_.ready().remove(first);
  first->state.store(SlotState::running, std::memory_order_seq_cst);
  return Outcome::alone;
}

/// Takes all that can join now.
void Gathering::collect() {
  while (!group_->full()) {
    const Candidate next = next_candidate();
    if (!next.slot) return;
    settled_.push_back(next.slot);
    take(next);
  }
}

/// The oldest instruction that could run right after the members: it is ready, or it waits for
/// members only. While a thread waits for an instruction, none that is younger. And none that is
/// younger than one that waits for a member and cannot join: the member's result would stay in
/// memory longer than in program order.
Gathering::Candidate Gathering::next_candidate() {
  std::vector<Candidate>& candidates = candidates_;
  candidates.clear();
  for (Slot* member : members_) add_successors(member, &candidates);
  stream_.ready().pull();
  int looks = 0;
  for (Slot* slot = stream_.ready().first(); slot && looks < kLookAhead;
       slot = slot->next, ++looks) {
    if (!contains(settled_, slot)) candidates.push_back({slot, 0});
  }
  // An awaited instruction that is older than the first does not wait for this group.
  const Seq awaited = grouping_.last_awaited();
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

// The member is not retired, so no edge leaves its list; issuers push in front of the ones read.
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

// A slot counts its open edges, and one more while its issuer links it. The edges from members are
// open, as only this thread could release them, and there is one for each member. So when the count
// equals them, the issuer is through (acquire: its writes are visible) and no other edge is open.
// Then no other thread will touch the slot any more.
bool Gathering::waits_for_members_only(const Candidate& candidate) const {
  return candidate.slot->header.stream == &stream_ &&
         candidate.slot->pending.load(std::memory_order_acquire) == candidate.edges;
}

/// A member that was not ready gets a guard: the retirement of the others does not dispatch it.
void Gathering::take(const Candidate& candidate) {
  Slot* slot = candidate.slot;
  if (!Grouping::add(*group_, slot)) {
    if (candidate.edges) refused_ = std::min(refused_, slot->name());
    return;
  }
  if (candidate.edges) {
    slot->pending.fetch_add(1, std::memory_order_relaxed);
    waiting_.push_back(slot);
  } else {
    stream_.ready().remove(slot);
  }
  slot->state.store(SlotState::running, std::memory_order_relaxed);
  members_.push_back(slot);
  cost_ += slot->header.cost;
}

// A group that takes long is worth a short wait: an instruction that is issued meanwhile may use
// its results, which then need no memory. Not while a thread waits, as that one does not issue.
void Gathering::linger() {
  if (!grouping_.begin_lingering()) return;
  const size_t before = members_.size();
  const int64_t begin = now_ns();
  int64_t grown = begin;
  size_t size = before;
  while (!group_->full()) {
    if (grouping_.last_awaited() != kNoneAwaited) return;
    if (!Grouping::may_grow(cost_ * kAdditionNs, begin, grown)) break;
    pause_briefly();
    collect();
    if (members_.size() == size) continue;
    size = members_.size();
    grown = now_ns();
  }
  grouping_.end_lingering(members_.size() > before);
}

/// Runs and retires all; false: that is not possible as one.
bool Gathering::launch() {
  Observer* observer = stream_.board().observer();
  const int64_t begin = observer ? now_ns() : 0;
  LaunchContext context{stream_.queue(), stream_, *members_.front()};
  bool launched = true;
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
  grouping_.count(members_.size(), group_->savings());
  if (observer) report(observer, begin);
  // In the order of joining: an edge is released before the slot that contains it retires.
  for (Slot* member : members_) stream_.retire(member, failure);
  return true;
}

void Gathering::report(Observer* observer, int64_t begin) {
  const int64_t end = now_ns();
  Slot* const first = members_.front();
  first->saved_bytes = static_cast<uint64_t>(group_->savings().bytes);
  for (Slot* member : members_) {
    member->group = first->name();
    observer->ran(member->header, member->name(), member->describe(), true, begin, end);
  }
}

/// Puts every member back where it was.
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
