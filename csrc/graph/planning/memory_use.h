// The memory that a run by segments needs, operation by operation: statistics of a plan.
#pragma once

#include <utility>
#include <vector>

#include "graph/planning/schedule.h"

namespace ofl::graph {

/// Where the result of an operation is.
enum class Place : uint8_t {
  none,      // it has no result
  tiles,     // in a group's tiles alone
  arena,     // in the arena of its device
  in_place,  // over an operand
  result,    // in the memory of a result of the program
  assigned,  // in an input, which holds it from then on
  alone,     // in a memory of its own
};
inline constexpr const char* kPlaceNames[] = {"none",   "tiles",    "arena", "in place",
                                              "result", "assigned", "alone"};

struct StepMemory {
  const Step* step;
  int64_t bytes;  // of its results
  Place place;    // of the first one
  int64_t live;   // bytes of all values of the run that are needed after it, and after its group
};

struct MemoryUse {
  std::vector<StepMemory> steps;  // in the order in which they are issued
  /// Of each device: the most bytes that a run holds at one time, inputs left out.
  std::vector<std::pair<const vm::DeviceState*, int64_t>> peaks;
};

MemoryUse memory_use(const Schedule& schedule);

}  // namespace ofl::graph
