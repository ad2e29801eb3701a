// What the launchers of array kernels share.
#pragma once

#include "ops/array_args.h"
#include "ops/cuda/launching.h"

namespace ofl::ops::cuda {

/// A kernel of elements of `dtype`, which takes an argument of so many bytes; nullptr: there is
/// none. `kind` and `op` are literals, see KernelRequest.
void* array_program(Launching& launching, const char* kind, const char* op, size_t args_bytes,
                    DType dtype = DType::u8, bool wide = false);

/// What stands for a dtype where elements are only moved: fewer kernels.
DType moved_as(DType dtype);

/// A row-major array of this shape in the memory of the call.
ArrayView scratch_array(Launching& launching, DType dtype, const Dims& shape);

/// to = from, of one shape and dtype; false: too many dimensions, and nothing is enqueued.
bool copy_array(Launching& launching, const ArrayView& from, const ArrayView& to);
/// True when copy_array takes an array of these strides and a row-major one.
bool can_copy(const ArrayView& view);
/// All bits zero; row-major.
bool clear_array(Launching& launching, const ArrayView& view);

/// The elements of an int64 array, as kernels name their type.
inline layout::int64* int64_data(const ArrayView& view) {
  return reinterpret_cast<layout::int64*>(view.data);
}

inline int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// How many blocks keep a device busy, where each can be given any share of the work.
inline int64_t busy_blocks(Launching& launching) {
  constexpr int64_t kPerMultiprocessor = 16;
  return kPerMultiprocessor * launching.device().multiprocessors();
}

}  // namespace ofl::ops::cuda
