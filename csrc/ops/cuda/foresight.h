// Foresight: the kernels of a call are compiled from when the call is issued, in the background,
// while the device's worker compiles or launches what came before. The call's launcher runs there
// as a rehearsal, which enqueues nothing: so whatever kernels it asks for are those of the call,
// and nothing is compiled that no call wants.
//
//   issue ──► the first of its kind? ──► rehearsal ──► key ──► not known ──► maker ─┐
//   launch ─► key ──► not known ──► maker, which waits for the one that began ◄──────┘
#pragma once

namespace ofl::ep {
class Device;
}

namespace ofl::ops {

template <typename Args>
struct KernelCall;

namespace cuda {

/// Has the images made for a call by kernels of the device's own, unless a call of this kind
/// (kernel, operation, dtypes, and roughly the layout) has been seen on the device before, as far
/// as is remembered: to find that out takes some nanoseconds. Any thread.
template <typename Args>
void foresee(ep::Device& device, const KernelCall<Args>& call);

}  // namespace cuda
}  // namespace ofl::ops
