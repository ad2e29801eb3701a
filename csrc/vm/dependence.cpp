#include "vm/dependence.h"

#include <algorithm>
#include <mutex>

#include "vm/failure/poison_mutex.h"

namespace ofl::vm {

std::atomic<int64_t> Dependence::poisoned_objects_{0};

FailurePtr Dependence::find_failure(Seq reader) const {
  std::lock_guard<std::mutex> lock(poison_mutex);
  FailurePtr earliest;
  for (const Poison& poison : poisons_) {
    if (poison.since >= reader) continue;
    if (!earliest || issued_before(*poison.failure, *earliest)) earliest = poison.failure;
  }
  return earliest;
}

void Dependence::poison(const FailurePtr& failure, Seq since) {
  std::lock_guard<std::mutex> lock(poison_mutex);
  joint().add_poison({since, failure});
}

void Dependence::add_poison(const Poison& poison) {
  for (const Poison& known : poisons_) {
    if (known.since <= poison.since && !issued_before(*poison.failure, *known.failure)) {
      return;  // the known one says as much
    }
  }
  poisons_.push_back(poison);
  if (!poisoned_.load(std::memory_order_relaxed)) poisoned_objects_.fetch_add(1);
  poisoned_.store(true, std::memory_order_release);
}

// Every instruction between the failure and `since` has retired, as `since` is a write.
void Dependence::forgive(Seq since) {
  std::lock_guard<std::mutex> lock(poison_mutex);
  Dependence& object = joint();
  const auto is_older = [since](const Poison& each) { return each.since < since; };
  auto& known = object.poisons_;
  if (known.empty()) return;
  known.erase(std::remove_if(known.begin(), known.end(), is_older), known.end());
  if (!known.empty()) return;
  object.poisoned_.store(false, std::memory_order_release);
  poisoned_objects_.fetch_sub(1);
}

// Under poison_mutex: poison comes either before, and is copied here, or it finds the joint.
void Dependence::join(Dependence& to) {
  std::lock_guard<std::mutex> lock(poison_mutex);
  for (const Poison& poison : poisons_) to.add_poison(poison);
  const int32_t count = std::max(joined_.load(std::memory_order_relaxed), 1);
  to.joined_.fetch_add(count, std::memory_order_release);
  joint_.store(&to, std::memory_order_release);
}

}  // namespace ofl::vm
