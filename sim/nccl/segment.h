// The memory that the ranks of one communicator share. All of it is zero at first.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "nccl/communicator.h"

namespace simnccl {

/// From one rank to another: a chunk at a time. The sender fills it when all that was written is
/// read, and counts `written` (release); the receiver sees that (acquire), and counts `read` when it
/// has taken it.
struct Channel {
  static constexpr size_t kBytes = size_t{64} << 10;

  std::atomic<uint64_t> written, read;
  size_t bytes;  // of the chunk
  char chunk[kBytes];
};

struct Segment {
  std::atomic<int> size;  // of the communicator, once a rank has come
  std::atomic<int> joined_count, finalized_count;
  std::atomic<bool> joined[World::kMostRanks], finalized[World::kMostRanks];
  std::atomic<int> error;
  // Behind it, size * size channels, by sender and receiver.

  Channel& channel(int from, int to) {
    auto* const first = reinterpret_cast<Channel*>(this + 1);
    return first[from * size.load(std::memory_order_relaxed) + to];
  }
  static size_t bytes(int size) {
    return sizeof(Segment) +
           static_cast<size_t>(size) * static_cast<size_t>(size) * sizeof(Channel);
  }
};

static_assert(std::atomic<uint64_t>::is_always_lock_free, "processes share them");

}  // namespace simnccl
