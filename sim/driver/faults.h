// Injected failures and counts of calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "driver/abi.h"

namespace simcuda {

/// The result of no call: it was left out.
inline constexpr Result kOmitted = static_cast<Result>(-1);

/// Work that a stream does. The n-th may kill its context.
enum class WorkKind : uint8_t { kernel, copy, fill };

class Faults {
 public:
  /// "cuX:n:code": the n-th call of cuX from now fails with `code`. False if it cannot be read.
  bool add_failure(const std::string& text);
  /// "cuX:n": the n-th call of cuX from now has no effect and says that all is well, as if the
  /// program had left it out.
  bool add_omission(const std::string& text);
  /// "KIND:n:code", KIND one of kernel, copy, fill: the n-th from now, when it runs, fails; its
  /// context stays dead.
  bool add_death(const std::string& text);
  void reset();

  /// Called once for each call of the API; kOmitted where it is to have no effect.
  Result on_call(const std::string& name) { return is_armed_ ? take(name) : SUCCESS; }
  /// Called by a stream's thread for each operation that it runs.
  Result on_work(WorkKind kind);

 private:
  struct Planned {
    int64_t remaining;
    Result code;
  };
  bool add(const std::string& text, Result default_code);
  Result take(const std::string& name);

  std::atomic<bool> is_armed_{false};
  std::mutex mutex_;                             // guards planned_
  std::multimap<std::string, Planned> planned_;  // by name of the call or kind of the work
};

Faults& faults();

/// Operations of a kind that streams have run.
int64_t work_count(WorkKind kind);
void count_work(WorkKind kind);

}  // namespace simcuda
