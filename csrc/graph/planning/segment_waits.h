// The segments that each segment of a program waits for.
#pragma once

#include "graph/order/lanes.h"
#include "graph/planning/schedule.h"
#include "graph/planning/unit_order.h"

namespace ofl::graph {

struct SegmentWaits {
  std::vector<UnitStream> streams;  // of the program
  Integers stream;                  // of each segment: its number among them
  Edges edges;                      // what the memories order, without what follows from the rest
  Edges waits;                      // those between lanes that the others do not imply: the fewest
};

SegmentWaits find_waits(const Schedule& schedule);

}  // namespace ofl::graph
