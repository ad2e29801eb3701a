#include "vm/process/report.h"

#include <algorithm>
#include <sstream>

namespace ofl::vm {

namespace {

void add(StreamPolicy::Counters& total, const StreamPolicy::Counters& more) {
  total.waits += more.waits;
  total.waits_elided += more.waits_elided;
  total.events += more.events;
  total.groups += more.groups;
  total.grouped += more.grouped;
  total.saved_results += more.saved_results;
  total.saved_bytes += more.saved_bytes;
}

}  // namespace

Stats collect_stats(DeviceTable& devices) {
  Stats stats;
  {
    Window& window = devices.window();
    std::lock_guard<std::mutex> lock(window.issue_mutex());
    stats.inlined = window.inlined;
    stats.issued = window.issued + window.inlined;
  }
  stats.failures = devices.board().failures.count();
  stats.host_waits = devices.board().waits();
  stats.in_flight = devices.in_flight();
  stats.retired = stats.inlined;
  for (Stream* stream : devices.streams()) {
    const auto retired = static_cast<uint64_t>(stream->retired_count());
    stats.streams.push_back({stream->name(), retired, stream->policy().counters()});
    stats.retired += retired;
    add(stats.total, stats.streams.back().counters);
  }
  return stats;
}

std::string list_in_flight(DeviceTable& devices) {
  std::ostringstream out;
  Window& window = devices.window();
  const Board& board = devices.board();
  std::lock_guard<std::mutex> lock(window.issue_mutex());  // slots keep their headers meanwhile
  Seqs in_flight = window.all_in_flight();
  std::sort(in_flight.begin(), in_flight.end());
  out << in_flight.size() << " instructions in flight\n";
  for (Seq seq : in_flight) {
    Slot& slot = window.slot_of(seq);
    out << "  #" << seq << " " << slot.header.name << " on " << slot.header.stream->name() << ", "
        << kSlotStateNames[static_cast<int>(slot.state.load(std::memory_order_relaxed))];
    const char* separator = ", waits for #";
    for (int i = 0; i < slot.edge_count; ++i) {
      const Seq predecessor = slot.edge(i).predecessor;
      if (!window.in_flight(predecessor)) continue;
      out << separator << predecessor;
      separator = " #";
    }
    if (slot.variables) out << ", " << *slot.variables;
    if (slot.starved.load(std::memory_order_relaxed)) out << ", waits for memory";
    if (slot.header.site) out << ", issued at " << board.site_text(slot.header.site);
    out << "\n";
  }
  return out.str();
}

}  // namespace ofl::vm
