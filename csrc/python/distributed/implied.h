// What operations move of operands that the program gave them in another layout: counted by line,
// warned of, or refused.
#pragma once

#include "python/distributed/global_object.h"

namespace ofl::python {

/// The tensor in the layout that an operation wants. What moves is noted first, on all ranks alike;
/// Error(runtime) where it is refused.
GlobalTensor brought(const GlobalTensor& x, const distributed::Layout& to, const char* op);

}  // namespace ofl::python
