// Ranks that are processes, which an MPI library connects. Only its messages between two ranks are
// used: the library's own collectives cannot end with the sentence that a rank has failed, and its
// groups are made by calls that wait for all of their ranks.
#pragma once

#include <memory>

#include "ep/communicators/communicator.h"
#include "ep/communicators/mpi/library.h"

namespace ofl::ep {

/// This process's end. The library allows calls from several threads, until leave() has returned.
/// A process that is forked has no end any more: there, everything throws Error(runtime).
std::unique_ptr<World> make_mpi_world(const mpi::Library& library);

}  // namespace ofl::ep
