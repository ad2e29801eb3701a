#include "ep/staging_pool.h"

#include <algorithm>
#include <cstring>

#include "ep/caching_allocator.h"
#include "ep/helper_pool.h"

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

}  // namespace

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
  helpers->parallel_for(static_cast<int64_t>((bytes + kPiece - 1) / kPiece), [&](int64_t i) {
    const size_t begin = static_cast<size_t>(i) * kPiece;
    std::memcpy(to + begin, from + begin, std::min(kPiece, bytes - begin));
  });
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
