#include "graph/planning/segment_waits.h"

#include <algorithm>

#include "graph/order/dependences.h"

namespace ofl::graph {

namespace {

/// The stream on which the machine runs it.
std::pair<Device, vm::StreamType> lane_of(const Lowered& lowered, const Segment& segment) {
  const auto device_of = [&](const Placed& operand) {
    return lowered.bases[operand.base].state->device.id();
  };
  if (segment.state) return {segment.state->device.id(), vm::StreamType::compute};
  const Step& step = segment.first();
  if (step.kind == Step::Kind::host) return {Device{}, vm::StreamType::host_func};
  const Device to = device_of(step.operands.back());
  if (step.kind != Step::Kind::transfer) return {to, vm::StreamType::compute};
  const Device from = device_of(step.operands.front());
  if (lowered.bases[step.operands.front().base].state->device.is_host()) {
    return {to, vm::StreamType::h2d};
  }
  const bool is_fetched = lowered.bases[step.operands.back().base].state->device.is_host();
  if (is_fetched) return {from, vm::StreamType::d2h};
  return {to, vm::StreamType::compute};
}

}  // namespace

SegmentWaits find_waits(const Schedule& schedule) {
  SegmentWaits found;
  Accesses accesses;
  for (const Segment& segment : schedule.segments) {
    const auto lane = lane_of(*schedule.lowered, segment);
    const auto known = std::find(found.lanes.begin(), found.lanes.end(), lane);
    found.lane.push_back(known - found.lanes.begin());
    if (known == found.lanes.end()) found.lanes.push_back(lane);
    for (const Segment::Use& use : segment.memories) {
      accesses.add({use.memory, use.is_written ? Access::write : Access::read});
    }
    accesses.end_row();
  }
  found.edges = dependences(accesses, {}, false);
  found.waits = waits(found.lane, found.edges);
  return found;
}

}  // namespace ofl::graph
