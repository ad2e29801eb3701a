// Kernels of a device's own: compiled when a call first needs one of its kind, then kept.
//
//   KernelCall ──► key ──► known? ──► launch
//                           └─ no ──► maker (source, compiler) ──► image ──► loaded ──► kept
#pragma once

#include <functional>
#include <string>

#include "ops/launch.h"

namespace ofl::ops {

/// What an image is wanted for. Its one entry, "kernel", takes a DeviceArgs by value.
struct KernelRequest {
  const char* kind;           // "elementwise", "copy", "where"
  std::string op;             // the row's name, where it is elementwise
  int operands;               // inputs and, last, the output
  DType dtype[kMaxOperands];  // as they lie in memory
  DType loop[kMaxOperands];   // as the loop takes and gives them
  bool scalar[kMaxInputs];    // given in the arguments
  bool flat;                  // the others lie contiguous, one after the other
  bool wide;                  // places need 64 bits
};

/// The image for an architecture; "" where there is no kernel for it. Any thread, which may block.
using KernelMaker = std::function<std::string(const KernelRequest&, const std::string& arch)>;
void set_kernel_maker(KernelMaker maker);
/// Off: calls run on the host, with the host's bits. Any thread.
void use_device_kernels(bool on);

/// Enqueues the call as a kernel of the device's own; false where there is none.
bool launch_on_device(ep::Stream& queue, const KernelCall& call);

}  // namespace ofl::ops
