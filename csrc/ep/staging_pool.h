// Pinned host memory for copies to a device, leased and kept for reuse: pinning is slow.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ofl::ep {

class Device;
class HelperPool;
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
  explicit StagingPool(Device& device) : device_(device) {}
  /// All leases are back.
  ~StagingPool() { release_cache(); }

  /// At least `bytes` of pinned memory; Error(out_of_memory) when there is none.
  StagingLease lease(size_t bytes);
  /// Copies memory of the host; large blocks with the help of the helpers.
  void copy(char* to, const char* from, size_t bytes) const;
  /// Any thread. They outlive the pool; null: there are none.
  void set_helpers(HelperPool* helpers) { helpers_.store(helpers, std::memory_order_release); }
  /// Unpins what is kept for reuse; the bytes released.
  size_t release_cache();

  size_t leased() const;                  // bytes out now
  std::mutex& mutex() { return mutex_; }  // held across fork

 private:
  friend class StagingLease;
  void give_back(char* data, size_t bytes);

  Device& device_;
  std::atomic<HelperPool*> helpers_{nullptr};
  mutable std::mutex mutex_;                             // guards the fields below
  std::unordered_map<size_t, std::vector<char*>> free_;  // by block size
  size_t cached_ = 0;
  size_t leased_ = 0;
};

}  // namespace ofl::ep
