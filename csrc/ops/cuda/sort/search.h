// Searching on a device, for the kernels that need it on their way.
#pragma once

#include "ops/cuda/arrays.h"

namespace ofl::ops::cuda {

/// The kernel of an operation in search.cuh; nullptr: there is none.
void* search_program(Launching& launching, const char* op, DType dtype);

/// Enqueues it: out = what it says of each needle. All one-dimensional.
void enqueue_search(Launching& launching, void* program, const ArrayView& sorted,
                    const ArrayView& needles, const ArrayView& out, bool option);

}  // namespace ofl::ops::cuda
