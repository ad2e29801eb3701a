#include "vm/failure/failure_log.h"

#include <algorithm>
#include <utility>

namespace ofl::vm {

namespace {
constexpr size_t kMaxNoted = 1024;
}

void FailureLog::note(const FailurePtr& failure) {
  std::lock_guard<std::mutex> lock(mutex_);
  ++count_;
  if (failures_.size() < kMaxNoted) failures_.push_back(failure);
}

void FailureLog::throw_first(std::optional<Device> device) {
  FailurePtr first;
  std::vector<FailurePtr> kept;  // then those that are let go, which may run code of the user
  size_t others = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (FailurePtr& failure : failures_) {
      if (device && failure->device != *device) {
        kept.push_back(std::move(failure));
        continue;
      }
      if (first) ++others;
      if (!first || issued_before(*failure, *first)) first = failure;
    }
    failures_.swap(kept);
  }
  if (!first) return;
  if (others == 0) throw OperationError(*first);
  Failure summary = *first;
  summary.message += concat(" (and ", others, " more failed operation", others > 1 ? "s" : "", ")");
  throw OperationError(summary);
}

void FailureLog::forget(const FailurePtr& failure) {
  std::lock_guard<std::mutex> lock(mutex_);
  failures_.erase(std::remove(failures_.begin(), failures_.end(), failure), failures_.end());
}

uint64_t FailureLog::count() {
  std::lock_guard<std::mutex> lock(mutex_);
  return count_;
}

}  // namespace ofl::vm
