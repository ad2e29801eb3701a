// Puts a kernel call on a device's queue: the one place that knows how each kind of device runs
// one.
#pragma once

#include <memory>
#include <optional>

#include "ep/device.h"
#include "ops/in_flight.h"
#include "ops/kernel.h"

namespace ofl::ops {

/// A kernel call with a place for the error of a kernel that runs later. `data` of the args are
/// device addresses; launch() turns them into what the kernel may touch.
struct KernelCall {
  std::optional<Error>* async_error = nullptr;
  const char* name = "";   // of the operation
  bool by_device = false;  // by the device's own kernels, where it has some; fixed at issue
  KernelArgs args;

  KernelCall() = default;
  KernelCall(const KernelCall& other) { *this = other; }
  /// Copies only the iteration rows in use.
  KernelCall& operator=(const KernelCall& other);
};

/// Runs the kernel in the calling thread (host devices; may throw what the kernel throws), or
/// enqueues it; then a failure of the kernel goes to *async_error before the queue moves on.
/// Returns what must live until the queue has run it, if there is something.
std::shared_ptr<InFlight> launch(ep::Stream& queue, KernelCall& call);

/// Elements times cost: an estimate of the work in float32 additions.
double work_of(const KernelArgs& args, double cost);

}  // namespace ofl::ops
