#include "nccl/communicator.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "nccl/segment.h"

namespace simnccl {
namespace {

/// Where nothing has moved, others need the core.
void nap() {
  const timespec time{0, 20'000};
  nanosleep(&time, nullptr);
}

/// A transfer on its way: first its size goes, then its bytes, in chunks.
struct Moving {
  Transfer transfer;
  bool has_begun = false, is_over = false;
  uint64_t announced = 0;  // bytes that the sender has
  size_t done = 0;

  /// Whether anything has moved.
  bool send(Channel& channel) {
    const uint64_t written = channel.written.load(std::memory_order_relaxed);
    if (channel.read.load(std::memory_order_acquire) != written) return false;
    if (!has_begun) {
      has_begun = true;
      announced = transfer.bytes;
      channel.bytes = sizeof(announced);
      std::memcpy(channel.chunk, &announced, sizeof(announced));
    } else {
      channel.bytes = std::min(Channel::kBytes, transfer.bytes - done);
      std::memcpy(channel.chunk, static_cast<const char*>(transfer.data) + done, channel.bytes);
      done += channel.bytes;
    }
    channel.written.store(written + 1, std::memory_order_release);
    is_over = done == announced;
    return true;
  }

  /// Bytes that do not fit are dropped: an error that the caller sees in `announced`.
  bool receive(Channel& channel) {
    const uint64_t read = channel.read.load(std::memory_order_relaxed);
    if (channel.written.load(std::memory_order_acquire) == read) return false;
    if (!has_begun) {
      has_begun = true;
      std::memcpy(&announced, channel.chunk, sizeof(announced));
    } else {
      if (announced == transfer.bytes) {
        std::memcpy(static_cast<char*>(transfer.data) + done, channel.chunk, channel.bytes);
      }
      done += channel.bytes;
    }
    channel.read.store(read + 1, std::memory_order_release);
    is_over = done == announced;
    return true;
  }
};

}  // namespace

std::shared_ptr<World> World::enter(const std::string& name, int size) {
  if (size > kMostRanks) return nullptr;
  const std::string path = "/dev/shm/" + name;
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return nullptr;
  const size_t bytes = Segment::bytes(size);
  void* memory = MAP_FAILED;
  // It only grows, and to the same size on all ranks.
  if (ftruncate(file, static_cast<off_t>(bytes)) == 0) {
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  if (memory == MAP_FAILED) return nullptr;
  auto* const segment = static_cast<Segment*>(memory);
  int known = 0;
  if (!segment->size.compare_exchange_strong(known, size) && known != size) {
    munmap(memory, bytes);
    return nullptr;
  }
  return std::shared_ptr<World>(new World(path, segment, size));
}

World::~World() {
  unlink(path_.c_str());  // where not all have come; a second time it fails
  munmap(segment_, Segment::bytes(size_));
}

bool World::join(int rank) {
  if (segment_->joined[rank].exchange(true)) return false;
  if (segment_->joined_count.fetch_add(1) + 1 == size_) unlink(path_.c_str());
  return true;
}

bool World::is_complete() const {
  return segment_->joined_count.load() == size_ || is_aborted_.load();
}

void World::wait_for_everyone() const {
  while (!is_complete()) nap();
}

bool World::finalize(int rank) {
  if (!segment_->finalized[rank].exchange(true)) segment_->finalized_count.fetch_add(1);
  return segment_->finalized_count.load() == size_ || is_aborted_.load();
}

// In each direction, the transfers to and from one peer go one after the other.
void World::exchange(int rank, const std::vector<Transfer>& transfers) {
  std::vector<Moving> all;
  for (const Transfer& transfer : transfers) all.push_back({transfer});
  for (size_t left = all.size(); left > 0;) {
    bool has_moved = false, is_held[2][kMostRanks] = {};
    for (Moving& one : all) {
      bool& held = is_held[one.transfer.is_send][one.transfer.peer];
      if (one.is_over || held) continue;
      const int peer = one.transfer.peer;
      has_moved |= one.transfer.is_send ? one.send(segment_->channel(rank, peer))
                                        : one.receive(segment_->channel(peer, rank));
      held = !one.is_over;
      left -= one.is_over;
    }
    if (is_aborted_.load()) return;
    if (!has_moved) nap();
  }
  for (const Moving& one : all) {
    if (one.announced == one.transfer.bytes) continue;
    std::fprintf(stderr, "simnccl: a send of %zu bytes meets a receive of %zu\n",
                 static_cast<size_t>(one.announced), one.transfer.bytes);
    segment_->error.store(kInvalidUsage);
  }
}

void World::stall() const {
  while (!is_aborted_.load()) nap();
}

void World::meet(int rank, const Contribution& contribution) {
  std::vector<Contribution> all(static_cast<size_t>(size_), contribution);
  std::vector<std::vector<char>> values(all.size());
  std::vector<Transfer> transfers;
  const size_t unit = contribution.count * type_bytes(contribution.type);
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank) continue;
    Contribution& other = all[static_cast<size_t>(peer)];
    std::vector<char>& value = values[static_cast<size_t>(peer)];
    value.resize(unit * extents(contribution, peer, size_).send);
    const size_t own = unit * extents(contribution, rank, size_).send;
    transfers.push_back({true, const_cast<Contribution*>(&contribution), sizeof(other), peer});
    transfers.push_back({true, const_cast<void*>(contribution.send), own, peer});
    transfers.push_back({false, &other, sizeof(other), peer});
    transfers.push_back({false, value.data(), value.size(), peer});
  }
  exchange(rank, transfers);
  if (is_aborted_.load()) return;
  for (size_t peer = 0; peer < all.size(); ++peer) {
    if (static_cast<int>(peer) == rank) continue;
    if (!all[peer].matches(contribution)) {
      std::fprintf(stderr, "simnccl: the ranks' calls differ\n");
      segment_->error.store(kInvalidUsage);
      return;
    }
    all[peer].send = values[peer].data();
  }
  perform(all, rank);
}

void World::abort() { is_aborted_.store(true); }

Result World::error() const { return static_cast<Result>(segment_->error.load()); }

}  // namespace simnccl
