// The table of functions, as cuGetProcAddress serves it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace simcuda {

/// Calls of each function that was called.
std::vector<std::pair<std::string, int64_t>> call_counts();
/// From here on each call of the function keeps its thread busy for so long. False: no such name.
bool set_call_cost(const std::string& name, int64_t ns);

}  // namespace simcuda
