// The segments that each segment of a program waits for.
#pragma once

#include "graph/order/lanes.h"
#include "graph/planning/schedule.h"

namespace ofl::graph {

struct SegmentWaits {
  std::vector<std::pair<Device, vm::StreamType>> lanes;  // of the program
  Integers lane;                                         // of each segment: its number among them
  Edges edges;  // what the memories order, without what follows from the rest
  Edges waits;  // those between lanes that the others do not imply: the fewest
};

SegmentWaits find_waits(const Schedule& schedule);

}  // namespace ofl::graph
