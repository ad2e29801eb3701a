// Ranks that are processes, which an MPI library connects. Only its messages between two ranks are
// used: the library's own collectives cannot end with the sentence that a rank has failed, and its
// groups are made by calls that wait for all of their ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ep/communicators/communicator.h"
#include "ep/communicators/mpi/library.h"

namespace ofl::ep {

/// Memory that the ranks of this process's host have mapped: segment_bytes(their number), all of it
/// zero when the first one comes.
struct HostMemory {
  std::shared_ptr<char> memory;  // nullptr: they have none, and only send messages
  std::vector<int32_t> ranks;    // of the world; the same list on each
};
size_t segment_bytes(int ranks);

/// This process's end. The library allows calls from several threads, until leave() has returned.
/// A process that is forked has no end any more: there, everything throws Error(runtime).
std::unique_ptr<World> make_mpi_world(const mpi::Library& library, HostMemory host = {});

}  // namespace ofl::ep
