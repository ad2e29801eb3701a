#include "graph/planning/segment_waits.h"

#include <algorithm>

#include "graph/order/dependences.h"

namespace ofl::graph {

SegmentWaits find_waits(const Schedule& schedule) {
  SegmentWaits found;
  Accesses accesses;
  for (const Segment& segment : schedule.segments) {
    const UnitStream stream = stream_of(*schedule.lowered, *segment.pieces[0].unit);
    const auto known = std::find(found.streams.begin(), found.streams.end(), stream);
    found.stream.push_back(known - found.streams.begin());
    if (known == found.streams.end()) found.streams.push_back(stream);
    for (const Segment::Use& use : segment.memories) {
      accesses.add({use.memory, use.is_written ? Access::write : Access::read});
    }
    accesses.end_row();
  }
  found.edges = dependences(accesses, {}, false);
  found.waits = waits(found.stream, found.edges);
  return found;
}

}  // namespace ofl::graph
