// Kernels of the host on memory that the host cannot touch: the operands are copied to pinned
// memory and back, in queue order, so nobody waits.
//
//   d2h copies ──► the kernel, on a host thread ──► h2d copies of what it wrote ──► memory given
//   back
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/shape.h"
#include "ep/memory/staging_pool.h"
#include "ops/in_flight.h"

namespace ofl::ops {

/// The operands of one kernel as copies in pinned memory. Operands that overlap share a copy. Lives
/// until the queue has run the kernel and the copies.
class HostCopies final : public InFlight {
 public:
  /// `data` points to where the first element is: an address of the device at first, one of
  /// the host when the kernel is launched.
  void add(char** data, Extent extent, bool written);

  /// Enqueues the copies, what `launch()` enqueues, and the copies back; keeps what launch()
  /// returns. When something throws, the queue is run to its end first: it may still write to the
  /// memory.
  template <typename Launch>
  static std::shared_ptr<HostCopies> around(ep::Stream& queue, std::shared_ptr<HostCopies> copies,
                                            const Launch& launch) {
    try {
      copies->fetch(queue);
      copies->kernel_ = launch();
      copies->store(queue);
    } catch (...) {
      queue.sync();
      throw;
    }
    return copies;
  }

 private:
  /// Takes the memory and enqueues the copies to it.
  void fetch(ep::Stream& queue);
  /// Enqueues the copies of what was written.
  void store(ep::Stream& queue);

  struct Operand {
    char** data;
    char* begin;
    char* end;
    bool written;
  };
  struct Block {
    char* device;
    size_t bytes;
    bool written;
    ep::StagingLease memory;
  };

  std::vector<Operand> operands_;
  std::vector<Block> blocks_;
  std::shared_ptr<InFlight> kernel_;
};

/// Remembers that an operation runs in this way, and tells the hook the first time. Any thread.
void note_host_operation(const char* name);
void set_host_operation_hook(std::function<void(const char* name)> hook);
/// Those that have, by name.
std::vector<std::string> host_operations();

}  // namespace ofl::ops
