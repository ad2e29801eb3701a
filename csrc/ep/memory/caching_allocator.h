// Stream-ordered caching allocator over Device::alloc/free; one per device, for every backend.
//
//   alloc(S) ── block free on S, or free and idle ──────────────────────────► reuse at once
//        └──── none, many blocks pending elsewhere: S waits for the events of the oldest ► reuse
//        └──── none: a part of a slab (small blocks), or new memory from the device
//                └── refused: block pending elsewhere: S waits for its events ► reuse
//                       └── none: release idle blocks and slabs, retry; sync the pending ones,
//                                 release them, retry ─────────────────────► Error(out_of_memory)
//
// A block in use by one queue alone may be reused by that queue at once, and by others after the
// use: an event is recorded only when another queue waits for it. A stream that is destroyed must
// be empty; its address may come back as another stream's.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "ep/event_pool.h"
#include "ep/memory/size_classes.h"
#include "ep/memory/slabs.h"
#include "ep/queue_progress.h"

namespace ofl::ep {

struct AllocatorStats {
  size_t in_use = 0;       // bytes in live blocks
  size_t cached = 0;       // bytes kept for reuse, what is not carved of slabs among them
  size_t peak_in_use = 0;  // since start
  size_t peak_held = 0;    // highest in_use + cached
  uint64_t allocs = 0;     // requests served
  uint64_t cache_hits = 0;
  uint64_t device_allocs = 0;
};

struct TagUsage {
  uint32_t tag;
  size_t bytes;
  size_t blocks;
};

/// "512 B", "4.0 MiB".
std::string bytes_str(size_t bytes);

/// Which cached blocks serve a request.
enum class Fit : uint8_t {
  close,  // of its size class, or of the next
  arena,  // up to the largest arena so far: programs that run in turn share one block
};

/// Refused for lack of memory: what others give back later may help.
class CapacityError : public Error {
 public:
  explicit CapacityError(const std::string& message) : Error(ErrorKind::out_of_memory, message) {}
};

/// Memory of an allocator that somebody keeps without using it, until it is wanted elsewhere. Any
/// thread may call both.
class IdleMemory {
 public:
  virtual ~IdleMemory() = default;
  /// Gives memory that nobody uses back to the allocator.
  virtual void release() = 0;
  /// How much that would be.
  virtual size_t idle_bytes() const = 0;
};

class CachingAllocator {
 public:
  explicit CachingAllocator(Device& device, const AllocatorOptions& options = {});
  /// Waits for pending blocks and gives the cache back to the device. Live blocks are left alone.
  ~CachingAllocator();

  /// Memory for work of `stream` (nullptr: for host use; then only idle blocks are reused).
  /// `tag` names the owner in out-of-memory messages. CapacityError after the ladder above.
  void* alloc(size_t bytes, Stream* stream, uint32_t tag = 0, Fit fit = Fit::close);

  /// Gives a block back. `home` may reuse it at once (nullptr: nobody waits for anybody); any other
  /// user after all `pending` events.
  /// `bytes` is what alloc() was asked for.
  void free(void* ptr, size_t bytes, Stream* home, std::vector<EventLease> pending = {});

  /// The same by its last uses: a queue that has all of them may reuse it at once (when there are
  /// no `pending` events besides), any other user after them.
  void free(void* ptr, size_t bytes, std::vector<QueueUse> uses,
            std::vector<EventLease> pending = {});
  /// The queue has run all that it had, and goes.
  void forget_queue(const QueueProgress& queue);

  /// Counts this as cached, and has it released before idle blocks are (nullptr: none). Before
  /// other threads come.
  void set_idle_memory(IdleMemory* memory) { idle_memory_ = memory; }

  /// Returns cached idle blocks to the device, those of slabs where all of a slab is idle; the
  /// bytes released.
  size_t release_cache();

  /// Bytes that may be in use and cached together; 0: as much as the device gives. A bounded cache
  /// keeps at most half of them.
  void set_limit(size_t bytes);

  AllocatorStats stats() const;
  /// The owners that hold the most, largest first. Blocks under 4 KiB are summed under tag 0.
  std::vector<TagUsage> largest_holders(size_t count) const;

  std::mutex& mutex() { return mutex_; }  // held across fork

 private:
  static constexpr size_t kSmallBlock = 4096;  // up to here no block is looked up

  struct PendingBlock {
    void* ptr;
    Stream* home;
    std::vector<EventLease> events;
    std::vector<QueueUse> uses;

    bool done() const;
  };
  struct Bin {
    std::vector<void*> idle;            // newest last
    std::vector<PendingBlock> pending;  // oldest first
    uint64_t last_use = 0;              // value of clock_
  };
  struct LiveBlock {
    size_t size;
    uint32_t tag;
  };
  struct IdleBlock {
    void* ptr;
    size_t size;
  };

  // Called without mutex_; nullptr: not on this rung.
  void* alloc_slow(size_t bytes, size_t size, Stream* stream, uint32_t tag);
  void* climb_ladder(size_t bytes, size_t size, Stream* stream, uint32_t tag);
  void* try_cache(size_t size, int last_bin, Stream* stream, uint32_t tag);
  void* try_arenas(size_t size, Stream* stream, uint32_t tag);
  void* try_device(size_t size, uint32_t tag);
  void* try_slab(size_t size, uint32_t tag);
  /// Memory from the device that counts in none of the sums yet; null: there is none.
  void* ask_device(size_t size);
  /// Where at least `fewest` blocks of the size are pending: the oldest, after its uses.
  void* take_over_pending(size_t fewest, size_t size, Stream* stream, uint32_t tag);
  void sync_pending();
  size_t release_idle();
  [[noreturn]] void fail_out_of_memory(size_t bytes);

  void give_back(size_t bytes, PendingBlock block);

  // Called with mutex_ held.
  void* take(Bin& bin, Stream* stream);
  void adopt(void* ptr, size_t size, uint32_t tag);
  void* carve(size_t size, uint32_t tag);
  size_t take_idle_blocks(std::vector<IdleBlock>* idle);
  size_t forget(void* ptr, size_t bytes);
  void promote_done_blocks();
  void evict(size_t room, std::vector<IdleBlock>* evicted);

  Device& device_;
  const AllocatorOptions options_;
  IdleMemory* idle_memory_ = nullptr;
  std::mutex ladder_mutex_;   // one thread at a time climbs or releases; taken before the two below
  std::mutex slab_mutex_;     // one thread at a time makes a slab; taken before mutex_
  mutable std::mutex mutex_;  // guards the fields below; taken before queues' and EventPool's
  Bin bins_[kBinCount];
  Slabs slabs_;
  std::unordered_map<void*, LiveBlock> large_;  // live blocks above kSmallBlock
  size_t small_blocks_ = 0;                     // live blocks up to kSmallBlock
  size_t large_in_use_ = 0;
  size_t in_use_ = 0;
  size_t cached_ = 0;
  std::bitset<kBinCount> is_arena_bin_;  // which may have idle ones
  int last_arena_bin_ = 0;
  size_t in_transit_ = 0;  // asked of the device, or on the way back, or being taken over
  size_t limit_ = 0;
  size_t max_cached_;
  size_t peak_in_use_ = 0;
  size_t peak_held_ = 0;
  uint64_t cache_hits_ = 0;
  uint64_t device_allocs_ = 0;
  uint64_t clock_ = 0;  // counts uses of bins
};

}  // namespace ofl::ep
