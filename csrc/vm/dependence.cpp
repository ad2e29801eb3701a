#include "vm/dependence.h"

#include <mutex>

namespace ofl::vm {

namespace {
std::mutex failure_mutex;  // guards Dependence::poisons_ of all objects; failures are rare
}

std::atomic<int64_t> Dependence::poisoned_objects_{0};

FailurePtr Dependence::find_failure(Seq reader) const {
  std::lock_guard<std::mutex> lock(failure_mutex);
  FailurePtr earliest;
  for (const Poison& poison : poisons_) {
    if (poison.since >= reader) continue;
    if (!earliest || poison.failure->seq < earliest->seq) earliest = poison.failure;
  }
  return earliest;
}

void Dependence::poison(const FailurePtr& failure, Seq since) {
  std::lock_guard<std::mutex> lock(failure_mutex);
  for (const Poison& known : poisons_) {
    if (known.since <= since && known.failure->seq <= failure->seq) return;  // it says no more
  }
  poisons_.push_back({since, failure});
  if (!poisoned_.load(std::memory_order_relaxed)) poisoned_objects_.fetch_add(1);
  poisoned_.store(true, std::memory_order_release);
}

}  // namespace ofl::vm
