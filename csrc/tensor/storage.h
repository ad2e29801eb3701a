// TensorStorage: bytes on one device, and the Dependence that orders who touches them. Memory is
// allocated when the first instruction that writes it runs, and given back when its last user has
// run; on a device with queues in queue order, without waiting.
//
//   handle ──┐
//   handle ──┼─ refs ──► TensorStorage ── owners ──► memory
//   slots  ──┘              (slots give up ownership of memory at launch, their ref at retirement)
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/small_vector.h"
#include "vm/virtual_machine.h"

namespace ofl {

class TensorStorage {
 public:
  /// A new one, with the first reference.
  static TensorStorage* make(vm::DeviceState& state, size_t bytes, vm::SiteId site);
  /// A small one on the host that has its memory at once: it asks nobody for it, and cannot fail.
  /// Null for any other.
  static TensorStorage* make_small(vm::DeviceState& state, int64_t bytes);
  /// A small one of one element that nobody else holds and that nothing has happened to: reuse()
  /// makes it one of `bytes` that is as new.
  bool is_reusable_element() const {
    return holds_memory_ && bytes_ <= kElementBytes && refs_.load(std::memory_order_acquire) == 1 &&
           !shared_range_ && dependence_.is_alone_and_sound();
  }
  void reuse(size_t bytes) {
    bytes_ = bytes;
    materialize_on_host();
  }
  /// A new one for memory of somebody else on the device; `owner` goes when the last user has run,
  /// in any thread.
  static TensorStorage* over(vm::DeviceState& state, void* data, size_t bytes,
                             std::shared_ptr<void> owner, bool writable);
  /// A new one on the host in memory that `device` has pinned.
  static TensorStorage* make_pinned(vm::DeviceState& host, ep::Device& device, size_t bytes);
  TensorStorage(const TensorStorage&) = delete;
  TensorStorage& operator=(const TensorStorage&) = delete;

  Device device() const { return state_.device.id(); }
  vm::DeviceState& state() const { return state_; }
  bool on_host() const { return on_host_; }
  size_t bytes() const { return bytes_; }
  vm::Dependence& dependence() { return dependence_; }
  /// False: no instruction may write to it (require_writable() refuses).
  bool writable() const { return writable_; }
  /// Copies of devices use its memory as it is.
  bool is_pinned() const { return is_pinned_; }
  /// Its memory is another library's: it is there from the start, and may begin at any byte.
  bool is_foreign() const { return owner_ != nullptr; }
  /// It holds temporaries of one run of a program. Before it has memory.
  void note_arena() { is_arena_ = true; }
  /// Another library gets the address of device memory. When the last handle goes, what is in the
  /// device's queues may use it still, whoever has put it there.
  void note_export() { is_exported_.store(true, std::memory_order_relaxed); }
  /// The memory is there, and another library gets or has its address. From here on there is one
  /// order for all storages over it that do this. Keep other threads from doing it (the GIL does).
  void enter_shared(vm::VirtualMachine& machine);
  /// There was no other storage over this memory. What is not alone does not run as one with
  /// others.
  bool is_alone() const { return dependence_.is_alone(); }

  /// The memory; null until the first writer has run. To be read by who is ordered after it.
  char* data() const { return data_; }
  /// By a writer that runs: allocates if that has not happened. Climbs the ladder: the allocator's
  /// cache, then what other instructions give back, then Error(out_of_memory).
  void materialize(vm::LaunchContext& context);
  /// On the host, for a writer that runs in the calling thread or before the storage is shared.
  void materialize_on_host();
  /// The same before the storage is shared; waits for what instructions in flight give back.
  void materialize_waiting(vm::VirtualMachine& machine, const char* reason);
  /// Takes that back: the writer does not run now.
  void forget_on_host() { free_memory(); }
  /// With memory of `queue` that is there now; CapacityError says nothing of what others will give
  /// back.
  void materialize_now(ep::Stream& queue);
  /// Takes that back: nothing has used it.
  void forget(ep::Stream& queue);
  /// With the memory of `dying`, which nobody else holds and which is as large.
  bool materialize_with(TensorStorage& dying);

  /// References keep the object, owners the memory. A holder takes both; it may give up ownership
  /// of the memory first (drop_memory) and the reference later.
  void acquire() { acquire(1); }
  void drop_memory() {
    if (!on_host_ && owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) free_memory();
  }
  void drop_ref() { drop(1); }
  void release() {
    drop_memory();
    drop_ref();
  }
  int references() const {
    return static_cast<int>(refs_.load(std::memory_order_acquire) & (kUse - 1));
  }

  /// The references that are no instruction's.
  int handles() const {
    const int64_t refs = refs_.load(std::memory_order_acquire);
    return static_cast<int>((refs & (kUse - 1)) - refs / kUse);
  }

  /// The same for an instruction, from before it is issued until it retires.
  void acquire_for_instruction() { acquire(kUse + 1); }
  void drop_instruction_ref() { drop(kUse + 1); }

  /// Of a host storage: it has a sound value, and no instruction in flight uses it. That stays so
  /// until somebody who has a handle issues one. Never, where there are others over the memory.
  /// An instruction drops its reference (release) after it has written and after it has poisoned
  /// what it writes; who then finds no such reference (acquire) sees all of that.
  bool is_settled() const {
    return refs_.load(std::memory_order_acquire) < kUse && data_ &&
           dependence_.is_alone_and_sound();
  }

  /// An instruction of `stream`, launched at `position`, uses the memory. Device storages only.
  void note_use(vm::Stream& stream, uint64_t position);

 private:
  /// Up to here the memory of a host storage lies behind it: a visit to the allocator, with its
  /// lock, costs more than the work on it. The allocator does not count it, nor the storage.
  static constexpr size_t kHeldBytes = 512;
  static constexpr size_t kElementBytes = sizeof(Scalar);

  static constexpr int64_t kUse = int64_t{1} << 32;

  struct Use {
    vm::Stream* stream;
    uint64_t position;
  };

  TensorStorage(vm::DeviceState& state, size_t bytes, vm::SiteId site, bool on_host,
                bool holds_memory);
  static TensorStorage* make_holding(vm::DeviceState& state, size_t bytes, vm::SiteId site);
  ~TensorStorage() = default;
  void* memory_behind();
  char* take_memory(ep::Stream* queue);

  void acquire(int64_t references) {
    refs_.fetch_add(references, std::memory_order_relaxed);
    if (!on_host_) owners_.fetch_add(1, std::memory_order_relaxed);
  }
  /// Who sees its own references alone need not count down: only who has one can make another.
  void drop(int64_t references) {
    if (refs_.load(std::memory_order_acquire) == references ||
        refs_.fetch_sub(references, std::memory_order_acq_rel) == references) {
      destroy();
    }
  }
  void free_memory();
  bool wait_for_others(std::vector<ep::EventLease>* pending);
  void leave_shared() {
    if (shared_range_) shared_range_->leave();
  }
  void destroy();

  vm::DeviceState& state_;
  size_t bytes_;  // changes in reuse() only
  const vm::SiteId site_;
  const bool on_host_;
  const bool holds_memory_;
  bool writable_ = true;
  bool is_pinned_ = false;
  bool is_arena_ = false;
  std::atomic<bool> is_exported_{false};  // by who has a handle, whose end comes before free_memory
  std::shared_ptr<void> owner_;           // of foreign memory; else null
  std::unique_ptr<vm::SharedRange> shared_range_;  // of the memory, once it has been shared
  std::atomic<int64_t> refs_{1};                   // plus kUse for each that is an instruction's
  std::atomic<int32_t> owners_{1};  // devices with queues only; on the host the refs own the memory
  char* data_ = nullptr;
  std::mutex uses_mutex_;     // guards uses_: readers launch on several streams at once
  SmallVector<Use, 2> uses_;  // the latest of each stream
  vm::Dependence dependence_;
};

/// A handle: one reference and one ownership.
class StorageRef {
 public:
  StorageRef() = default;
  /// Takes over the reference that the constructor of TensorStorage made.
  static StorageRef adopt(TensorStorage* storage) {
    StorageRef ref;
    ref.storage_ = storage;
    return ref;
  }
  StorageRef(const StorageRef& other) : storage_(other.storage_) {
    if (storage_) storage_->acquire();
  }
  StorageRef(StorageRef&& other) noexcept : storage_(other.storage_) { other.storage_ = nullptr; }
  StorageRef& operator=(StorageRef other) noexcept {
    std::swap(storage_, other.storage_);
    return *this;
  }
  ~StorageRef() {
    if (storage_) storage_->release();
  }
  void reset() {
    if (storage_) std::exchange(storage_, nullptr)->release();
  }
  TensorStorage* get() const { return storage_; }
  TensorStorage* operator->() const { return storage_; }
  TensorStorage& operator*() const { return *storage_; }
  explicit operator bool() const { return storage_ != nullptr; }

 private:
  TensorStorage* storage_ = nullptr;
};

/// A storage that others see, too, while this lives: operations on it have run when the call
/// returns. Make it first, then wait for access: from then on the memory is settled, but for
/// functions that are pushed, whose callers wait themselves.
class SharedStorage {
 public:
  explicit SharedStorage(StorageRef storage) : storage_(std::move(storage)) {
    storage_->dependence().share();
  }
  SharedStorage(const SharedStorage&) = delete;
  SharedStorage& operator=(const SharedStorage&) = delete;
  ~SharedStorage() { storage_->dependence().unshare(); }

 private:
  StorageRef storage_;
};

}  // namespace ofl
