// Creating and destroying an event can synchronize a GPU, so events are leased from a pool.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "ep/device.h"

namespace ofl::ep {

/// A lease: the last owner to let go, in any thread, returns the event to its pool. The pool (that
/// is, the Device) must outlive its leases.
using EventLease = std::shared_ptr<Event>;

class EventPool {
 public:
  explicit EventPool(Device& device) : device_(device) {}

  EventLease lease(EventKind kind = EventKind::untimed);

  size_t created() const;  // events ever made, of both kinds
  size_t leased() const;   // events out now

  std::mutex& mutex() { return mutex_; }  // held across fork

 private:
  void give_back(Event* event, EventKind kind);

  Device& device_;
  mutable std::mutex mutex_;  // guards the fields below
  std::vector<std::unique_ptr<Event>> free_[kEventKindCount];
  size_t created_ = 0;
  size_t leased_ = 0;
};

}  // namespace ofl::ep
