// Foresight: the kernel of a call is compiled from when the call is issued, in the background,
// while the device's worker compiles or launches what came before. Nothing is compiled that no call
// wants.
//
//   issue ──► the first of its kind? ──► key ──► not known ──► maker, in the background ─┐
//   launch ─► key ──► not known ──► maker, which waits for the one that began ◄──────────┘
#pragma once

namespace ofl::ep {
class Device;
}

namespace ofl::ops {

struct KernelArgs;

namespace cuda {

/// Whether a call of this kind (kernel, operation, dtypes) has not been seen on the device before,
/// as far as is remembered. Any thread; takes some nanoseconds.
bool is_first_of_its_kind(const ep::Device& device, const KernelArgs& args);

/// Has the image of the call's kernel made, where it is elementwise. Operands in memory have any
/// address as aligned as theirs will be. Any thread.
void foresee(ep::Device& device, const KernelArgs& args);

}  // namespace cuda
}  // namespace ofl::ops
