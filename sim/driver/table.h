// The table of functions, as cuGetProcAddress serves it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace simcuda {

/// Calls of each function that was called.
std::vector<std::pair<std::string, int64_t>> call_counts();

}  // namespace simcuda
