// What the machine tells about itself: counters and the list of what is in flight.
#include <algorithm>
#include <sstream>

#include "vm/virtual_machine.h"

namespace ofl::vm {

int64_t VirtualMachine::retired_count() {
  int64_t total = 0;
  for (Stream* stream : streams()) total += stream->retired_count();
  return total;
}

VirtualMachine::Stats VirtualMachine::stats() {
  Stats stats;
  {
    std::lock_guard<std::mutex> lock(window_.issue_mutex());
    stats.issued = issued_ + inlined_;
    stats.inlined = inlined_;
  }
  {
    std::lock_guard<std::mutex> lock(failures_mutex_);
    stats.failures = failure_count_;
  }
  stats.host_waits = host_waits_.load(std::memory_order_relaxed);
  for (Stream* stream : streams()) {
    const auto retired = static_cast<uint64_t>(stream->retired_count());
    stats.streams.push_back({stream->name(), retired, stream->policy().counters()});
    stats.retired += retired;
    const GroupState& groups = stream->groups();
    stats.groups += groups.groups.load(std::memory_order_relaxed);
    stats.grouped += groups.instructions.load(std::memory_order_relaxed);
    stats.saved_results += groups.results.load(std::memory_order_relaxed);
    stats.saved_bytes += groups.bytes.load(std::memory_order_relaxed);
  }
  stats.retired += stats.inlined;
  std::lock_guard<std::mutex> lock(setup_mutex_);
  for (auto& state : owned_states_) {
    stats.in_flight += state->in_flight();
  }
  return stats;
}

std::string VirtualMachine::dump() {
  std::ostringstream out;
  std::lock_guard<std::mutex> lock(window_.issue_mutex());  // slots keep their headers meanwhile
  SmallVector<Seq, 16> in_flight;
  collect_in_flight(nullptr, &in_flight);
  std::sort(in_flight.begin(), in_flight.end());
  out << in_flight.size() << " instructions in flight\n";
  for (Seq seq : in_flight) {
    Slot& slot = window_.slot_of(seq);
    out << "  #" << seq << " " << slot.header.name << " on " << slot.header.stream->name() << ", "
        << kSlotStateNames[static_cast<int>(slot.state.load(std::memory_order_relaxed))];
    const char* separator = ", waits for #";
    for (int i = 0; i < slot.edge_count; ++i) {
      const Seq predecessor = slot.edge(i).predecessor;
      if (!window_.in_flight(predecessor)) continue;
      out << separator << predecessor;
      separator = " #";
    }
    if (slot.starved.load(std::memory_order_relaxed)) out << ", waits for memory";
    if (format_site_ && slot.header.site) out << ", issued at " << format_site_(slot.header.site);
    out << "\n";
  }
  return out.str();
}

}  // namespace ofl::vm
