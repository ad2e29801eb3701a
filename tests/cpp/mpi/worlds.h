// Worlds of ranks that are threads, by each of the ways in which ranks reach each other.
#pragma once

#include <memory>
#include <numeric>
#include <vector>

#include "ep/communicators/threads.h"
#include "mpi/fake_mpi.h"

namespace ofl::ep {

enum class Over { threads, messages, segment };
inline constexpr Over kAllWays[] = {Over::threads, Over::messages, Over::segment};

inline std::vector<std::unique_ptr<World>> make_worlds(Over over, int size) {
  if (over == Over::threads) return make_thread_world(size);
  if (over == Over::messages) return mpi::make_fake_mpi_world(size);
  std::vector<int32_t> all(static_cast<size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  return mpi::make_fake_mpi_world(size, {all});
}

}  // namespace ofl::ep
