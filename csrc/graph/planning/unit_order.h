// The streams that units run on, and what orders them: what they read and write.
#pragma once

#include <string>

#include "graph/order/rows.h"
#include "graph/planning/units.h"

namespace ofl::graph {

/// A stream of a device; of compute streams, that of a lane.
struct UnitStream {
  Device device;
  vm::StreamType type;
  int lane = kCallersLane;

  bool operator==(const UnitStream& other) const {
    return device == other.device && type == other.type && lane == other.lane;
  }
  /// Such as "cpu compute1"; "cpu compute" is the caller's lane.
  std::string name() const;
};

/// The one on which the machine runs the unit.
UnitStream stream_of(const Lowered& lowered, const Unit& unit);

struct UnitOrder {
  std::vector<UnitStream> streams;
  Integers stream;  // of each unit: its number among them
  Edges edges;      // reads and writes of bases; among them what follows from others
};

UnitOrder order_of(const Lowered& lowered, const std::vector<Unit>& units);

/// Divides the units without a lane of their own between so many compute lanes of their devices;
/// the first one is the caller's.
void spread_over_lanes(const Lowered& lowered, std::vector<Unit>* units, int lanes);

}  // namespace ofl::graph
