#include "ep/memory/staging_pool.h"

#include <algorithm>
#include <cstring>

#include "ep/memory/caching_allocator.h"

namespace ofl::ep {

namespace {
constexpr size_t kMaxCached = size_t{256} << 20;  // pinned pages are lost to the rest of the system
constexpr size_t kPage = 4096;
constexpr size_t kSmall = size_t{1} << 20;

/// Small blocks are pages, twice as many from class to class: pinning takes longer than using one.
size_t block_size(size_t bytes) {
  if (bytes > kSmall) return round_up_block(bytes);
  size_t size = kPage;
  while (size < bytes) size *= 2;
  return size;
}

/// Copies in pieces, which the threads take one after the other.
void copy_by(HelperPool& helpers, char* to, const char* from, size_t bytes, size_t piece,
             int64_t weight) {
  const auto pieces = static_cast<int64_t>((bytes + piece - 1) / piece);
  const auto copy_piece = [&](int64_t i) {
    const size_t begin = static_cast<size_t>(i) * piece;
    std::memcpy(to + begin, from + begin, std::min(piece, bytes - begin));
  };
  helpers.parallel_for(pieces, copy_piece, weight);
}

/// Helpers of transfers that run now, in all pools of the process. It is a number and nothing else,
/// so relaxed: nobody reads by it what another thread has written.
std::atomic<int> busy_helpers{0};

/// Takes up to `wanted` out of what `cores` leave; returns how many.
int reserve_helpers(int wanted, int cores) {
  int busy = busy_helpers.load(std::memory_order_relaxed);
  for (;;) {
    const int taken = std::clamp(cores - 2 - busy, 0, wanted);
    if (taken == 0 ||
        busy_helpers.compare_exchange_weak(busy, busy + taken, std::memory_order_relaxed)) {
      return taken;
    }
  }
}

}  // namespace

StagingPool::StagingPool(Device& device) : device_(device) {}

StagingPool::~StagingPool() { release_cache(); }

int StagingPool::helpers_for(int cores) {
  constexpr int kMost = 5;  // with the thread that has the transfer, 6
  return std::clamp((cores - 2) / 2, 0, kMost);
}

HelperPool& StagingPool::helpers_of(CopyKind direction) {
  const bool to_host = direction == CopyKind::d2h;
  std::lock_guard<std::mutex> lock(mutex_);
  std::unique_ptr<HelperPool>& pool = of_direction_[to_host];
  if (!pool) pool = std::make_unique<HelperPool>(1, to_host ? "d2h helper" : "h2d helper");
  return *pool;
}

void StagingPool::after_fork_in_child() {
  for (const std::unique_ptr<HelperPool>& pool : of_direction_) {
    if (pool) pool->after_fork_in_child();
  }
}

// Several devices may have transfers at once: all helpers together, and a thread for each
// direction, are no more than the cores. A transfer that finds them taken copies alone.
StagingPool::Transfer::Transfer(StagingPool& pool, CopyKind direction) {
  const HelperPool* const host = pool.helpers_.load(std::memory_order_acquire);
  const int cores = host ? host->threads() : 1;
  if (helpers_for(cores) == 0) return;
  HelperPool& helpers = pool.helpers_of(direction);
  reserved_ = reserve_helpers(helpers_for(cores), cores);
  if (reserved_ == 0) return;
  helpers_ = &helpers;
  helpers_->set_threads(reserved_ + 1);
  vigil_.emplace(*helpers_);
}

StagingPool::Transfer::~Transfer() { busy_helpers.fetch_sub(reserved_, std::memory_order_relaxed); }

void StagingPool::Transfer::copy(char* to, const char* from, size_t bytes) const {
  constexpr size_t kPiece = size_t{256} << 10, kShared = size_t{1} << 20;
  constexpr int64_t kWeight = 3;  // a piece takes about 26 us at 10 GB/s
  if (helpers_ && bytes >= kShared) return copy_by(*helpers_, to, from, bytes, kPiece, kWeight);
  if (bytes) std::memcpy(to, from, bytes);
}

StagingLease::~StagingLease() {
  if (data_) pool_->give_back(data_, bytes_);
}

StagingLease StagingPool::lease(size_t bytes) {
  StagingLease lease;
  lease.pool_ = this;
  lease.bytes_ = block_size(bytes);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = free_.find(lease.bytes_);
    if (found != free_.end() && !found->second.empty()) {
      lease.data_ = found->second.back();
      found->second.pop_back();
      cached_ -= lease.bytes_;
    }
    leased_ += lease.bytes_;
  }
  if (lease.data_) return lease;
  try {
    lease.data_ = static_cast<char*>(device_.alloc_pinned(lease.bytes_));
  } catch (const Error&) {
    std::lock_guard<std::mutex> lock(mutex_);
    leased_ -= lease.bytes_;
    throw;
  }
  return lease;
}

void StagingPool::copy(char* to, const char* from, size_t bytes) const {
  constexpr size_t kPiece = size_t{128} << 10, kShared = size_t{1} << 20;
  HelperPool* const helpers = helpers_.load(std::memory_order_acquire);
  if (!helpers || bytes < kShared) {
    if (bytes) std::memcpy(to, from, bytes);
    return;
  }
  copy_by(*helpers, to, from, bytes, kPiece, 1);
}

void StagingPool::give_back(char* data, size_t bytes) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    leased_ -= bytes;
    if (cached_ + bytes <= kMaxCached) {
      cached_ += bytes;
      free_[bytes].push_back(data);
      return;
    }
  }
  device_.free_pinned(data, bytes);
}

size_t StagingPool::release_cache() {
  std::unordered_map<size_t, std::vector<char*>> blocks;
  size_t released = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    blocks.swap(free_);
    std::swap(released, cached_);
  }
  for (auto& [bytes, list] : blocks) {
    for (char* data : list) device_.free_pinned(data, bytes);
  }
  return released;
}

size_t StagingPool::leased() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return leased_;
}

}  // namespace ofl::ep
