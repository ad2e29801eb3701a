// Ranks that are threads of one process: they copy from each other's memory.
#pragma once

#include <memory>
#include <vector>

#include "ep/communicators/communicator.h"

namespace ofl::ep {

/// The ends of a world of `ranks`, by rank. Each may be used as long as it lives, whether or not
/// the others do, and so may those of its groups.
std::vector<std::unique_ptr<World>> make_thread_world(int ranks);

}  // namespace ofl::ep
