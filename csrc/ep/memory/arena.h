// Arena: memory of the host that is leased by one user at a time, often and for a short while. It
// stays between two leases as long as nobody else needs memory: then it counts as cached.
//
//            lease()           give_back()           release()
//   nothing ─────────► leased ◄───────────► idle ──────────────► nothing
//                                  lease()          when memory is short, or the cache is emptied
#pragma once

#include <atomic>
#include <cstddef>

#include "ep/memory/caching_allocator.h"

namespace ofl::ep {

/// Any thread may call anything; nobody waits.
class Arena final : public IdleMemory {
 public:
  /// The only one of the allocator.
  explicit Arena(CachingAllocator& allocator) : allocator_(allocator) {
    allocator_.set_idle_memory(this);
  }
  Arena(const Arena&) = delete;
  ~Arena() override {
    allocator_.set_idle_memory(nullptr);
    free();
  }

  /// At least so many bytes, until give_back(); null: somebody else has it. CapacityError: there is
  /// no memory for it.
  char* lease(size_t bytes) {
    if (is_leased_.exchange(true, std::memory_order_acquire)) return nullptr;
    return bytes <= bytes_.load(std::memory_order_relaxed) ? data_ : grown(bytes);
  }
  void give_back() { is_leased_.store(false, std::memory_order_release); }

  /// Where nobody has leased it.
  void release() override;
  size_t idle_bytes() const override;

 private:
  char* grown(size_t bytes);
  void free();

  CachingAllocator& allocator_;
  std::atomic<bool> is_leased_{false};  // its setter owns the rest; others may read the size
  std::atomic<size_t> bytes_{0};
  char* data_ = nullptr;
};

/// A lease of the arena, while it is in scope.
class ArenaLease {
 public:
  /// As Arena::lease().
  ArenaLease(Arena& arena, size_t bytes) : arena_(arena), data_(arena.lease(bytes)) {}
  ArenaLease(const ArenaLease&) = delete;
  ~ArenaLease() {
    if (data_) arena_.give_back();
  }
  char* data() const { return data_; }

 private:
  Arena& arena_;
  char* const data_;
};

}  // namespace ofl::ep
