// Recycled: memory of objects that one thread makes and others let go. The C library keeps such
// memory for the thread that freed it, and takes a lock of the thread that made it.
//
//   made ◄── a thread's blocks ◄── shared list, all at once ◄── a batch ◄── let go, any thread
//
// The shared list is pushed to by compare-and-swap and emptied by one exchange. A head that
// compares equal may have been away meanwhile: the batch is then linked to what is there now.
#pragma once

#include <atomic>
#include <cstddef>
#include <new>
#include <utility>

namespace ofl {

/// Blocks of one size. A thread keeps the blocks that it gives back until they fill a batch. Then
/// any thread may take them. At most kMostBatches wait so, and further ones are freed.
template <size_t Bytes, size_t Alignment>
class RecycledBlocks {
 public:
  static void* take() {
    if (Block* block = keeps() ? cache_.take() : nullptr) return block;
    return ::operator new(sizeof(Block), std::align_val_t(alignof(Block)));
  }

  static void give_back(void* memory) noexcept {
    auto* const block = new (memory) Block;
    keeps() ? cache_.give_back(block) : free_all(block);
  }

 private:
  static constexpr int kBatch = 32, kMostBatches = 128;

  union Block {
    Block* next = nullptr;
    alignas(Alignment) std::byte bytes[Bytes];
  };

  /// One thread's.
  class Cache {
   public:
    ~Cache() {
      has_ended_ = true;
      free_all(ready_);
      free_all(batch_);
    }

    Block* take() {
      if (!ready_) {
        ready_ = shared_.exchange(nullptr, std::memory_order_acquire);
        ready_ ? batches_.store(0, std::memory_order_relaxed) : std::swap(ready_, batch_);
        if (!batch_) count_ = 0;
      }
      Block* const block = ready_;
      if (block) ready_ = block->next;
      return block;
    }

    void give_back(Block* block) {
      block->next = std::exchange(batch_, block);
      if (!block->next) oldest_ = block;
      if (++count_ == kBatch) share();
    }

   private:
    void share() {
      Block* const first = std::exchange(batch_, nullptr);
      count_ = 0;
      if (batches_.fetch_add(1, std::memory_order_relaxed) >= kMostBatches) return free_all(first);
      oldest_->next = shared_.load(std::memory_order_relaxed);
      while (!shared_.compare_exchange_weak(oldest_->next, first, std::memory_order_release,
                                            std::memory_order_relaxed)) {
      }
    }

    Block* ready_ = nullptr;   // to be taken
    Block* batch_ = nullptr;   // given back, the youngest first
    Block* oldest_ = nullptr;  // of the batch, while there is one
    int count_ = 0;            // in the batch
  };

  static void free_all(Block* block) {
    while (block) {
      Block* const each = std::exchange(block, block->next);
      ::operator delete(each, std::align_val_t(alignof(Block)));
    }
  }

  /// AddressSanitizer sees uses of freed memory only.
  static bool keeps() {
#if defined(__SANITIZE_ADDRESS__)
    return false;
#else
    return !has_ended_;
#endif
  }

  static inline std::atomic<Block*> shared_{nullptr};
  static inline std::atomic<int> batches_{0};  // in the shared list; a hint
  static inline thread_local Cache cache_;
  static inline thread_local bool has_ended_ = false;  // the cache has; objects may end later
};

/// For std::allocate_shared.
template <typename T>
struct Recycled {
  using value_type = T;
  Recycled() = default;
  template <typename Other>
  Recycled(const Recycled<Other>&) {}

  T* allocate(size_t) { return static_cast<T*>(RecycledBlocks<sizeof(T), alignof(T)>::take()); }
  void deallocate(T* memory, size_t) noexcept {
    RecycledBlocks<sizeof(T), alignof(T)>::give_back(memory);
  }
  bool operator==(const Recycled&) const { return true; }
  bool operator!=(const Recycled&) const { return false; }
};

}  // namespace ofl
