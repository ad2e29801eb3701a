#include "vm/dependence.h"

#include <mutex>

namespace ofl::vm {

namespace {
std::mutex failure_mutex;  // guards Dependence::failure_ of all objects; failures are rare
}

std::atomic<int64_t> Dependence::poisoned_objects_{0};

FailurePtr Dependence::find_failure(Seq reader) const {
  std::lock_guard<std::mutex> lock(failure_mutex);
  return failure_ && failure_->seq < reader ? failure_ : nullptr;
}

void Dependence::poison(const FailurePtr& failure) {
  std::lock_guard<std::mutex> lock(failure_mutex);
  if (!failure_ || failure->seq < failure_->seq) failure_ = failure;
  if (!poisoned_.load(std::memory_order_relaxed)) poisoned_objects_.fetch_add(1);
  poisoned_.store(true, std::memory_order_release);
}

}  // namespace ofl::vm
