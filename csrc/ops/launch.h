// Kernel calls as values, and how one is put on a device's queue: the one place that knows how each
// kind of device runs one.
//
//   call ── its bases are known ──► arguments with addresses ─┬─► run here, on the host
//                                                             ├─► kernels of the device's own
//                                                             └─► a host function in the queue
#pragma once

#include <memory>
#include <optional>

#include "base/small_vector.h"
#include "ep/device.h"
#include "ops/array_args.h"
#include "ops/in_flight.h"
#include "ops/loop_args.h"

namespace ofl::ops {

/// A call is made once and launched any number of times, by any threads. The addresses in `args`
/// are offsets from bases that each launch gives.
template <typename Args>
struct KernelCall {
  Args args;
  SmallVector<int16_t, 8> bases;  // the number of each operand's base; -1: a scalar, see LoopArgs
  bool by_device = false;         // by kernels of the device's own, where it has some

  /// The arguments with addresses; base_of(number) is where a base begins.
  template <typename BaseOf>
  Args placed(const BaseOf& base_of) const {
    Args placed = args;
    for (int k = 0; k < bases.size(); ++k) {
      const auto offset = reinterpret_cast<intptr_t>(placed.address(k));
      placed.address(k) = bases[k] < 0 ? nullptr : base_of(bases[k]) + offset;
    }
    return placed;
  }
};

/// Whether calls that are issued now run as kernels of the device's own, where it has some.
bool uses_own_kernels(const ep::Device& device);

/// Runs it in the calling thread (host devices; may throw what the kernel throws), or enqueues it;
/// then a failure of the kernel goes to *async_error before the queue moves on. Bases are device
/// addresses. Returns what must live until the queue has run it, if there is something.
template <typename Args>
std::shared_ptr<InFlight> launch(ep::Stream& queue, const KernelCall<Args>& call,
                                 char* const* bases, std::optional<Error>* async_error);

/// Runs a kernel on addresses that it may touch, in the calling thread and with args.helpers.
inline void run(LoopArgs& args) {
  for (int k = 0; k + 1 < args.size(); ++k) {
    if (!args.data[k]) args.data[k] = reinterpret_cast<char*>(&args.scalars[k]);
  }
  args.form().run(args);
}
/// Large work in pieces, as the kernel's row says. A failure is the one that the undivided work
/// meets first.
void run(const ArrayArgs& args);  // sharing_out.cpp

}  // namespace ofl::ops
