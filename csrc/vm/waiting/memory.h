// Waits of a body that is launching for memory that other instructions give back.
#pragma once

#include <cstdint>

#include "vm/instruction.h"

namespace ofl::vm {

/// To be asked before the memory: how many instructions have retired.
int64_t retired_count(const LaunchContext& context);
/// Memory was refused when `retired` instructions had retired. True: something else has retired
/// since then, and it makes sense to try again. False: nothing can come back.
bool wait_for_memory(LaunchContext& context, int64_t retired);

}  // namespace ofl::vm
