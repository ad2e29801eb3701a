// Reports of the machine: its counters, and the list of everything in flight.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vm/devices/device_table.h"

namespace ofl::vm {

struct Stats {
  uint64_t issued = 0, inlined = 0, retired = 0, host_waits = 0, failures = 0;
  int64_t in_flight = 0;
  StreamPolicy::Counters total;  // of all streams
  struct PerStream {
    std::string name;
    uint64_t retired;
    StreamPolicy::Counters counters;
  };
  std::vector<PerStream> streams;
};

/// Any thread.
Stats collect_stats(DeviceTable& devices);
/// One line for each instruction in flight: its name, its state, and which ones it waits for.
std::string list_in_flight(DeviceTable& devices);

}  // namespace ofl::vm
