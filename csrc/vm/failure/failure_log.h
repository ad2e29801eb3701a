// FailureLog: the failures that no synchronize() has thrown yet.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "vm/failure/failure.h"

namespace ofl::vm {

/// Any thread.
class FailureLog {
 public:
  void note(const FailurePtr& failure);
  /// Takes the failures (of one device) out of the log. If there are any, throws an OperationError
  /// with the earliest, which also tells how many others there were.
  void throw_first(std::optional<Device> device);
  /// Takes one out that has been raised already.
  void forget(const FailurePtr& failure);
  /// All failures that were ever noted.
  uint64_t count();
  std::mutex& mutex() { return mutex_; }

 private:
  std::mutex mutex_;  // guards the fields below
  std::vector<FailurePtr> failures_;
  uint64_t count_ = 0;
};

}  // namespace ofl::vm
