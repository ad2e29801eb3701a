#include "vm/fusion/grouping.h"

#include <algorithm>

#include "base/clock.h"

namespace ofl::vm {

namespace {

constexpr int64_t kLongestQuietNs = 50'000;  // without a newcomer
constexpr double kMostLinger = 1.0 / 8;      // of the time that the group will take
constexpr double kMostQuiet = 1.0 / 16;
constexpr int kVain = 4;    // after this many waits in a row that brought nothing ...
constexpr int kRetry = 16;  // ... only every 16th group waits

void add_to(std::atomic<uint64_t>& counter, uint64_t value) {
  counter.store(counter.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

}  // namespace

std::unique_ptr<Group> Grouping::begin(Slot* first) const {
  if (!first->header.type->group || first->operand_failure() ||
      board_.options.fusion.load(std::memory_order_relaxed) == Fusion::never) {
    return nullptr;
  }
  return first->header.type->group(first);
}

bool Grouping::add(Group& group, Slot* slot) { return !slot->operand_failure() && group.add(slot); }

bool Grouping::begin_lingering() {
  if (vain_ >= kVain && ++skipped_ < kRetry) return false;
  skipped_ = 0;
  return true;
}

bool Grouping::may_grow(double work_ns, int64_t begin, int64_t grown) {
  const int64_t now = now_ns();
  const auto quiet = std::min(kLongestQuietNs, static_cast<int64_t>(work_ns * kMostQuiet));
  return now - grown < quiet && now - begin < static_cast<int64_t>(work_ns * kMostLinger);
}

void Grouping::count(size_t members, const Group::Savings& savings) {
  add_to(groups_, 1);
  add_to(grouped_, members);
  add_to(results_, static_cast<uint64_t>(savings.results));
  add_to(bytes_, static_cast<uint64_t>(savings.bytes));
}

StreamPolicy::Counters Grouping::counters() const {
  StreamPolicy::Counters counters;
  counters.groups = groups_.load(std::memory_order_relaxed);
  counters.grouped = grouped_.load(std::memory_order_relaxed);
  counters.saved_results = results_.load(std::memory_order_relaxed);
  counters.saved_bytes = bytes_.load(std::memory_order_relaxed);
  return counters;
}

}  // namespace ofl::vm
