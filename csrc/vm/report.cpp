// What the machine tells about itself: counters and the list of what is in flight. And fork, which
// needs the same overview of everything that is locked.
#include <algorithm>
#include <sstream>

#include "ep/caching_allocator.h"
#include "ep/staging_pool.h"
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

// Nothing is in flight and the caller keeps other threads of the layer above out, so what could
// still be held is a lock that an idle worker takes for a moment: the batons. With them, and the
// locks of issuing and of memory, in our hands the child starts from a consistent state.
void VirtualMachine::before_fork() {
  fork_prepared_ = true;
  for (Stream* stream : streams()) stream->baton().lock();
  window_.issue_mutex().lock();
  setup_mutex_.lock();
  failures_mutex_.lock();
  for (auto& state : owned_states_) {
    state->device.allocator().mutex().lock();
    state->device.events().mutex().lock();
    state->device.staging().mutex().lock();
  }
}

void VirtualMachine::after_fork_in_parent() {
  if (!fork_prepared_) return;
  fork_prepared_ = false;
  for (auto& state : owned_states_) {
    state->device.staging().mutex().unlock();
    state->device.events().mutex().unlock();
    state->device.allocator().mutex().unlock();
  }
  failures_mutex_.unlock();
  setup_mutex_.unlock();
  window_.issue_mutex().unlock();
  for (Stream* stream : streams()) stream->baton().unlock();
}

void VirtualMachine::after_fork_in_child() {
  if (!fork_prepared_) return;
  after_fork_in_parent();
  sync_.release();  // other threads of the parent may have been asleep in it
  sync_ = std::make_unique<Sync>();
  waiting_threads_.store(0, std::memory_order_relaxed);
  watchers_.store(0, std::memory_order_relaxed);
  for (auto& state : owned_states_) state->device.after_fork_in_child();
  for (Stream* stream : streams()) stream->after_fork_in_child();
}

}  // namespace ofl::vm
