// Division: how an array kernel's work is shared by helpers. A piece is a call of the same kernel
// on parts of its arrays.
#pragma once

#include "ops/array_kernel.h"

namespace ofl::ops {

/// Runs the kernel, in pieces where it is large and its row of the table says how. A failure is the
/// one that the undivided work meets first.
void run(const ArrayCall& call);

}  // namespace ofl::ops
