#include "vm/shared_ranges.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "vm/virtual_machine.h"

namespace ofl::vm {

/// The group that contains the address, or the first one behind it.
SharedRanges::Groups::iterator SharedRanges::find(uintptr_t address) {
  auto next = groups_.upper_bound(address);
  if (next == groups_.begin()) return next;
  const auto before = std::prev(next);
  return before->second.end > address ? before : next;
}

/// Null when it has entered; else what must come to rest first.
std::shared_ptr<Dependence> SharedRanges::try_to_enter(Dependence& object, uintptr_t begin,
                                                       uintptr_t end,
                                                       std::shared_ptr<Order>* order) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto first = find(begin);
  auto last = first;
  for (; last != groups_.end() && last->first < end; ++last) {
    std::shared_ptr<Order> other = last->second.order;
    while (other->joined) other = other->joined;
    if (!*order) *order = other;
    if (other == *order) continue;
    if (!machine_.join(other->object, (*order)->object)) return {other, &other->object};
    other->joined = *order;
  }
  if (!*order) *order = std::make_shared<Order>();
  if (!machine_.join(object, (*order)->object)) return {std::shared_ptr<void>(), &object};
  Group merged{end, 1, *order};
  for (auto group = first; group != last; ++group) {
    begin = std::min(begin, group->first);
    merged.end = std::max(merged.end, group->second.end);
    merged.ranges += group->second.ranges;
  }
  groups_.erase(first, last);
  groups_.emplace(begin, std::move(merged));
  return nullptr;
}

std::shared_ptr<SharedRanges::Order> SharedRanges::enter(Dependence& object, uintptr_t begin,
                                                         uintptr_t end) {
  for (;;) {
    std::shared_ptr<Order> order;
    const std::shared_ptr<Dependence> busy = try_to_enter(object, begin, end, &order);
    if (!busy) return order;
    machine_.wait_for_access(*busy, "shared memory");
  }
}

// release: who finds itself alone sees what the others wrote.
void SharedRanges::leave(Order& order, uintptr_t begin) {
  std::lock_guard<std::mutex> lock(mutex_);
  order.object.joint().joined_.fetch_sub(1, std::memory_order_release);
  const auto group = find(begin);
  if (--group->second.ranges == 0) groups_.erase(group);
}

SharedRange::SharedRange(VirtualMachine& machine, Dependence& object, const void* begin,
                         size_t bytes)
    : home_(machine.shared_ranges()), begin_(reinterpret_cast<uintptr_t>(begin)) {
  order_ = home_.enter(object, begin_, begin_ + bytes);
  entered_ = true;
}

void SharedRange::leave() {
  if (std::exchange(entered_, false)) home_.leave(*order_, begin_);
}

}  // namespace ofl::vm
