// What is known by heart of the loops of some rows: the one table of C++ with names of rows.
#pragma once

#include <string>

#include "ops/op_def.h"

namespace ofl::ops {

/// What is known of the loops of the row of this name; nothing, as a rule. Lives for ever.
const KnownLoops& known_loops(const std::string& row);

}  // namespace ofl::ops
