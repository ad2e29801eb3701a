#include "vm/process/shared_ranges.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ofl::vm {

/// The cluster that contains the address, or the first one behind it.
SharedRanges::Clusters::iterator SharedRanges::find(uintptr_t address) {
  auto next = clusters_.upper_bound(address);
  if (next == clusters_.begin()) return next;
  const auto before = std::prev(next);
  return before->second.end > address ? before : next;
}

bool SharedRanges::join(Dependence& object, Dependence& to) {
  std::lock_guard<std::mutex> lock(window_.issue_mutex());
  return window_.join(object, to);
}

/// Null when it has entered; else the object that must come to rest first.
std::shared_ptr<Dependence> SharedRanges::try_to_enter(Dependence& object, uintptr_t begin,
                                                       uintptr_t end,
                                                       std::shared_ptr<Order>* order) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto first = find(begin);
  auto last = first;
  for (; last != clusters_.end() && last->first < end; ++last) {
    std::shared_ptr<Order> other = last->second.order;
    while (other->joined) other = other->joined;
    if (!*order) *order = other;
    if (other == *order) continue;
    if (!join(other->object, (*order)->object)) return {other, &other->object};
    other->joined = *order;
  }
  if (!*order) *order = std::make_shared<Order>();
  if (!join(object, (*order)->object)) return {std::shared_ptr<void>(), &object};
  Cluster merged{end, 1, *order};
  for (auto cluster = first; cluster != last; ++cluster) {
    begin = std::min(begin, cluster->first);
    merged.end = std::max(merged.end, cluster->second.end);
    merged.ranges += cluster->second.ranges;
  }
  clusters_.erase(first, last);
  clusters_.emplace(begin, std::move(merged));
  return nullptr;
}

std::shared_ptr<SharedRanges::Order> SharedRanges::enter(Dependence& object, uintptr_t begin,
                                                         uintptr_t end) {
  for (;;) {
    std::shared_ptr<Order> order;
    const std::shared_ptr<Dependence> busy = try_to_enter(object, begin, end, &order);
    if (!busy) return order;
    waiting_.wait_for_access(*busy, "shared memory");
  }
}

// release: an object that finds itself alone sees the writes of the others.
void SharedRanges::leave(Order& order, uintptr_t begin) {
  std::lock_guard<std::mutex> lock(mutex_);
  order.object.joint().joined_.fetch_sub(1, std::memory_order_release);
  const auto cluster = find(begin);
  if (--cluster->second.ranges == 0) clusters_.erase(cluster);
}

SharedRange::SharedRange(SharedRanges& home, Dependence& object, const void* begin, size_t bytes)
    : home_(home), begin_(reinterpret_cast<uintptr_t>(begin)) {
  order_ = home_.enter(object, begin_, begin_ + bytes);
  entered_ = true;
}

void SharedRange::leave() {
  if (std::exchange(entered_, false)) home_.leave(*order_, begin_);
}

}  // namespace ofl::vm
