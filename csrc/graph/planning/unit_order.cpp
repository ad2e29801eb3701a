#include "graph/planning/unit_order.h"

#include <algorithm>

#include "base/cost.h"
#include "base/error.h"
#include "graph/order/dependences.h"
#include "graph/order/spread.h"

namespace ofl::graph {

namespace {

/// 10 us: another worker begins so much later than one that goes on.
constexpr double kHandOver = 10e3 / kAdditionNs;

}  // namespace

std::string UnitStream::name() const {
  const std::string number = lane == kCallersLane ? "" : std::to_string(lane);
  return concat(device.str(), " ", vm::info(type).name, number);
}

UnitStream stream_of(const Lowered& lowered, const Unit& unit) {
  if (const ComputeLane lane = lane_of(lowered, unit)) {
    return {lane.state->device.id(), vm::StreamType::compute, lane.number};
  }
  const Step& step = lowered.steps[unit.steps[0]];
  if (step.kind == Step::Kind::host) return {Device{}, vm::StreamType::host_func};
  const ep::Device& from = lowered.bases[step.operands.front().base].state->device;
  const ep::Device& to = lowered.bases[step.operands.back().base].state->device;
  if (from.is_host()) return {to.id(), vm::StreamType::h2d};
  if (to.is_host()) return {from.id(), vm::StreamType::d2h};
  return {to.id(), vm::StreamType::compute, unit.lane};
}

UnitOrder order_of(const Lowered& lowered, const std::vector<Unit>& units) {
  UnitOrder order;
  Accesses accesses;
  for (const Unit& unit : units) {
    const UnitStream stream = stream_of(lowered, unit);
    const auto known = std::find(order.streams.begin(), order.streams.end(), stream);
    order.stream.push_back(known - order.streams.begin());
    if (known == order.streams.end()) order.streams.push_back(stream);
    for_each_base(lowered, unit, [&](int64_t base, bool is_written) {
      accesses.add({base, is_written ? Access::write : Access::read});
    });
    accesses.end_row();
  }
  order.edges = hazards(accesses, {});
  return order;
}

void spread_over_lanes(const Lowered& lowered, std::vector<Unit>* units, int lanes) {
  const UnitOrder order = order_of(lowered, *units);
  std::vector<vm::DeviceState*> states;
  Integers costs, devices;
  for (const Unit& unit : *units) {
    vm::DeviceState* const state = lane_of(lowered, unit).state;
    costs.push_back(static_cast<int64_t>(unit.cost));
    const bool has_own = unit.lane != kCallersLane || !state;
    const auto known = std::find(states.begin(), states.end(), state);
    devices.push_back(has_own ? kNoLane : known - states.begin());
    if (!has_own && known == states.end()) states.push_back(state);
  }
  const auto wait = static_cast<int64_t>(kHandOver);
  const Integers found = spread(costs, devices, order.edges, lanes, wait);
  for (size_t u = 0; u < found.size(); ++u) {
    if (found[u] > 0) (*units)[u].lane = static_cast<int>(found[u]);
  }
}

}  // namespace ofl::graph
