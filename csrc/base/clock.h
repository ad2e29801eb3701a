// The clock of all records, deadlines and waits.
#pragma once

#include <chrono>
#include <cstdint>

namespace ofl {

/// std::chrono::steady_clock in nanoseconds.
inline int64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace ofl
