// Elements of host tensors, in the calling thread. A settled one, which no instruction uses, takes
// neither an instruction nor a lock; while somebody observes, all but looks are instructions. The
// caller keeps other threads from issuing on the tensors (the GIL does).
#pragma once

#include <cstring>

#include "ops/op_def.h"
#include "tensor/issue.h"
#include "tensor/tensor.h"

namespace ofl {

/// A call for each size would take longer than the copy.
inline void copy_element(const void* from, size_t size, void* to) {
  switch (size) {
    case 4: std::memcpy(to, from, 4); break;
    case 8: std::memcpy(to, from, 8); break;
    default: std::memcpy(to, from, size);
  }
}

/// Writes an element of `size` bytes, a power of two, `count` times.
void repeat_element(const Scalar& value, size_t size, size_t count, char* out);

/// The memory of a storage that is settled and not observed; else null.
inline char* settled_data(const vm::VirtualMachine& machine, const TensorStorage& storage) {
  const bool is_settled = storage.on_host() && machine.may_act_at_once() && storage.is_settled();
  return is_settled ? storage.data() : nullptr;
}

/// Whether a new tensor of some size may get its memory and its elements at once: nobody observes,
/// and the device has nothing to do. Otherwise it takes its turn: what comes before gives back
/// memory.
inline bool may_make_now(const vm::VirtualMachine& machine, const vm::DeviceState& state) {
  return state.device.is_host() && machine.may_act_at_once() && state.in_flight() == 0;
}

/// The only element of `x`, when it is on the host, ready and sound; else false, and look() tells.
bool read_element(vm::VirtualMachine& machine, const Tensor& x, Scalar* element);

/// Writes an element of `storage`, which has this dtype, where that takes no instruction; else
/// false, and fill() does it.
bool write_element(vm::VirtualMachine& machine, TensorStorage& storage, int64_t offset, DType dtype,
                   const Scalar& element);

/// The same with the element of a 0-d tensor, which is cast; else assign() does it, and says what
/// is wrong.
bool write_element(vm::VirtualMachine& machine, TensorStorage& storage, int64_t offset, DType dtype,
                   const Tensor& element);

/// Gives `result`, which is new, the elements of x at once, where they are few and at hand, and
/// fewer still, or in few rows, where they lie otherwise than its own will; else false.
bool copied_here(const Issuer& issuer, const Tensor& x, const Tensor& result);

/// One element of each operand of an operation.
template <int count>
struct ElementOperands {
  char* places[count];
  DType dtypes[count];
  bool numbers[count];  // it was no tensor: the loop does not step
};

/// The operands as the loop of the resolution takes them, by place, dtype, and whether they step.
void run_loop(const ops::Resolution& resolution, int count, char* const* places,
              const DType* dtypes, const bool* numbers, char* out, bool in_place);

/// out = op(inputs), an element of the result's dtype, with the bits of elementwise(). `in_place`:
/// `out` was there before, and may be an input. Not for loops that check exponents.
template <int count>
void compute_element(const ops::Resolution& resolution, const ElementOperands<count>& inputs,
                     char* out, bool in_place) {
  bool needs_casts = resolution.out != resolution.result;
  for (int k = 0; k < count; ++k) needs_casts |= inputs.dtypes[k] != resolution.in[k];
  if (resolution.element && !needs_casts) return resolution.element(inputs.places, out);
  run_loop(resolution, count, inputs.places, inputs.dtypes, inputs.numbers, out, in_place);
}

}  // namespace ofl
