// Pinned host memory for copies to a device, leased and kept for reuse: pinning is slow. And the
// threads that copy between it and pageable memory, some for each direction.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ep/device.h"
#include "ep/threads/helper_pool.h"

namespace ofl::ep {

class StagingPool;

/// A block of pinned memory; returns itself. Any thread may let it go, when the copy has run.
class StagingLease {
 public:
  StagingLease() = default;
  StagingLease(StagingLease&& other) noexcept { swap(other); }
  StagingLease& operator=(StagingLease&& other) noexcept {
    swap(other);
    return *this;
  }
  ~StagingLease();

  explicit operator bool() const { return data_ != nullptr; }
  char* data() const { return data_; }

 private:
  friend class StagingPool;
  void swap(StagingLease& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  StagingPool* pool_ = nullptr;
  char* data_ = nullptr;
  size_t bytes_ = 0;
};

class StagingPool {
 public:
  explicit StagingPool(Device& device);
  /// All leases are back.
  ~StagingPool();

  /// At least `bytes` of pinned memory; Error(out_of_memory) when there is none.
  StagingLease lease(size_t bytes);
  /// Copies memory of the host; large blocks with the help of the helpers.
  void copy(char* to, const char* from, size_t bytes) const;
  /// Any thread. They outlive the pool; null: there are none.
  void set_helpers(HelperPool* helpers) { helpers_.store(helpers, std::memory_order_release); }

  /// One thread's copies between pageable and pinned memory, h2d or d2h: they have helpers of the
  /// direction's own, which stay awake while it lives.
  class Transfer;
  /// Helpers of one direction where so many threads may run. A thread for each direction copies,
  /// too, and both directions together keep no more than all cores busy.
  static int helpers_for(int cores);
  /// In the child after fork.
  void after_fork_in_child();
  /// Unpins what is kept for reuse; the bytes released.
  size_t release_cache();

  size_t leased() const;                  // bytes out now
  std::mutex& mutex() { return mutex_; }  // held across fork

 private:
  friend class StagingLease;
  void give_back(char* data, size_t bytes);
  HelperPool& helpers_of(CopyKind direction);

  Device& device_;
  std::atomic<HelperPool*> helpers_{nullptr};
  mutable std::mutex mutex_;                             // guards the fields below
  std::unordered_map<size_t, std::vector<char*>> free_;  // by block size
  size_t cached_ = 0;
  size_t leased_ = 0;
  std::unique_ptr<HelperPool> of_direction_[2];  // made at first use: h2d, d2h
};

class StagingPool::Transfer {
 public:
  Transfer(StagingPool& pool, CopyKind direction);
  ~Transfer();
  Transfer(const Transfer&) = delete;

  void copy(char* to, const char* from, size_t bytes) const;

 private:
  int reserved_ = 0;               // of the cores of the process
  HelperPool* helpers_ = nullptr;  // where there are any
  std::optional<HelperPool::Vigil> vigil_;
};

}  // namespace ofl::ep
