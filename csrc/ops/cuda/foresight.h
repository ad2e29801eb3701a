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

struct ArrayArgs;
struct ArrayKernel;
struct KernelArgs;

namespace cuda {

/// Whether a call of this kind (kernel, operation, dtypes, and roughly the layout) has not been
/// seen on the device before, as far as is remembered. Any thread; takes some nanoseconds.
bool is_first_of_its_kind(const ep::Device& device, const KernelArgs& args);
bool is_first_of_its_kind(const ep::Device& device, const ArrayKernel& kernel,
                          const ArrayArgs& args);

/// Has the images of the call's kernels made. Operands in memory begin at their offsets from
/// kRehearsedAddress. Any thread.
void foresee(ep::Device& device, const KernelArgs& args);
void foresee(ep::Device& device, const ArrayKernel& kernel, const ArrayArgs& args);

}  // namespace cuda
}  // namespace ofl::ops
