// Injected failures of mock devices.
#pragma once

#include <atomic>
#include <cstdint>

#include "ep/device.h"
#include "ep/mock/mock_device.h"

namespace ofl::ep {

/// Counts one call; true for the call that takes the counter from 1 to 0.
bool count_down(std::atomic<int64_t>& counter);

/// `what` with its article: "a launch".
[[noreturn]] void fail_injected(const Device& device, const char* what);

}  // namespace ofl::ep
