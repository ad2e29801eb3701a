// Searching on a device, for the kernels that need it on their way.
#pragma once

#include "ops/device/arrays.h"

namespace ofl::ops::device {

/// The kernel of an operation in search.cuh; nullptr: there is none.
void* search_program(Launching& launching, const char* op, DType dtype);

/// Enqueues it: out = what it says of each needle. All one-dimensional.
void enqueue_search(Launching& launching, void* program, const ArrayView& sorted,
                    const ArrayView& needles, const ArrayView& out, bool option);

/// The kernel of out = in[positions] for this dtype; nullptr: there is none.
void* pick_program(Launching& launching, DType dtype);

/// Enqueues it. `fault`: gets a position that does not exist; nullptr: all of them do.
void enqueue_pick(Launching& launching, void* program, const ArrayView& in,
                  const ArrayView& positions, const ArrayView& out, int64_t* fault = nullptr);

}  // namespace ofl::ops::device
