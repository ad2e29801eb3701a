// How far a predecessor must be before its successor may be dispatched.
#pragma once

#include "vm/instruction.h"

namespace ofl::vm {

/// The three rules of docs/architecture.md, "vm". A queue never waits for results that the host has
/// a part in.
Milestone required_milestone(const Slot& predecessor, const Slot& successor);

}  // namespace ofl::vm
