// How the queues and the memory of a device meet those of other libraries in the process. A foreign
// queue is a handle, as its library writes it; it may be given by any thread that could use it
// itself. Failures are thrown as ofl::Error.
#pragma once

#include <cstdint>
#include <memory>

#include "ep/device.h"

namespace ofl::ep {

class Interop {
 public:
  virtual ~Interop() = default;

  /// A queue of this device, for others.
  virtual uintptr_t handle_of(Stream& queue) = 0;
  /// Later work of the foreign queue starts after the event's point. Does not block the host.
  virtual void make_wait(uintptr_t foreign_queue, Event& event) = 0;
  /// The event's point is behind all that the foreign queue, which is of this device, has now.
  virtual void record(uintptr_t foreign_queue, Event& event) = 0;
  /// The same for all queues of the device, whoever has made them.
  virtual void record_all(Event& event) = 0;
  /// While the result lives, this is the calling thread's current device for other libraries.
  virtual std::shared_ptr<void> make_current() = 0;
};

}  // namespace ofl::ep
