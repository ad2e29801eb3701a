#include "tensor/storage.h"

#include <new>

#include "ep/interop.h"
#include "ep/memory/caching_allocator.h"
#include "ep/memory/staging_pool.h"
#include "vm/waiting/memory.h"

namespace ofl {

namespace {

constexpr size_t kHoldersShown = 5;

constexpr size_t kAlignment = 64;

std::string with_holders(const std::string& message, const vm::DeviceState& state) {
  std::string text = message;
  for (const ep::TagUsage& usage : state.device.allocator().largest_holders(kHoldersShown)) {
    text += concat("\n  ", usage.bytes, " bytes in ", usage.blocks,
                   usage.blocks == 1 ? " block" : " blocks", ", issued at ",
                   usage.tag ? state.table.board().site_text(usage.tag) : "several places");
  }
  return text;
}

}  // namespace

TensorStorage::TensorStorage(vm::DeviceState& state, size_t bytes, vm::SiteId site, bool on_host,
                             bool holds_memory)
    : state_(state), bytes_(bytes), site_(site), on_host_(on_host), holds_memory_(holds_memory) {}

TensorStorage* TensorStorage::make_holding(vm::DeviceState& state, size_t bytes, vm::SiteId site) {
  const size_t behind = kAlignment - 1 + ep::round_up_block(bytes);
  void* place = ::operator new(sizeof(TensorStorage) + behind);
  return new (place) TensorStorage(state, bytes, site, true, true);
}

TensorStorage* TensorStorage::make(vm::DeviceState& state, size_t bytes, vm::SiteId site) {
  const bool on_host = state.device.is_host();
  if (on_host && bytes <= kHeldBytes) return make_holding(state, bytes, site);
  void* place = ::operator new(sizeof(TensorStorage));
  return new (place) TensorStorage(state, bytes, site, on_host, false);
}

TensorStorage* TensorStorage::make_small(vm::DeviceState& state, int64_t bytes) {
  constexpr vm::SiteId kNoSite = 0;  // nothing is issued, and no allocator asks
  if (bytes > static_cast<int64_t>(kHeldBytes) || !state.device.is_host()) return nullptr;
  TensorStorage* storage = make_holding(state, static_cast<size_t>(bytes), kNoSite);
  storage->data_ = static_cast<char*>(storage->memory_behind());
  return storage;
}

TensorStorage* TensorStorage::over(vm::DeviceState& state, void* data, size_t bytes,
                                   std::shared_ptr<void> owner, bool writable) {
  void* place = ::operator new(sizeof(TensorStorage));
  auto* storage = new (place) TensorStorage(state, bytes, 0, state.device.is_host(), false);
  storage->writable_ = writable;
  storage->owner_ = std::move(owner);
  storage->data_ = static_cast<char*>(data);
  return storage;
}

TensorStorage* TensorStorage::make_pinned(vm::DeviceState& host, ep::Device& device, size_t bytes) {
  auto lease = std::make_shared<ep::StagingLease>(device.staging().lease(bytes));
  char* const data = lease->data();
  TensorStorage* storage = over(host, data, bytes, std::move(lease), true);
  storage->is_pinned_ = true;
  return storage;
}

void* TensorStorage::memory_behind() {
  const auto end = reinterpret_cast<uintptr_t>(this + 1);
  return reinterpret_cast<void*>((end + kAlignment - 1) & ~(kAlignment - 1));
}

char* TensorStorage::take_memory(ep::Stream* queue) {
  const ep::Fit fit = is_arena_ ? ep::Fit::arena : ep::Fit::close;
  return static_cast<char*>(state_.device.allocator().alloc(bytes_, queue, site_, fit));
}

void TensorStorage::materialize(vm::LaunchContext& context) {
  if (data_ || holds_memory_) return materialize_on_host();
  // Host memory written by a device queue (d2h) belongs to no queue.
  ep::Stream* queue = on_host_ ? nullptr : &context.queue;
  for (;;) {
    const int64_t retired = vm::retired_count(context);
    try {
      data_ = take_memory(queue);
      return;
    } catch (const ep::CapacityError& error) {
      if (vm::wait_for_memory(context, retired)) continue;
      throw Error(error.kind(), with_holders(error.what(), state_));
    }
  }
}

void TensorStorage::materialize_on_host() {
  if (data_) return;
  data_ = holds_memory_ ? static_cast<char*>(memory_behind()) : take_memory(nullptr);
}

void TensorStorage::materialize_waiting(vm::VirtualMachine& machine, const char* reason) {
  for (bool first = true;; first = false) {
    // Asked before the attempt: what retires in between has given its memory back.
    const vm::Seq oldest = first ? 0 : machine.oldest_in_flight();
    try {
      return materialize_on_host();
    } catch (const ep::CapacityError& error) {
      if (oldest) machine.wait(oldest, reason);
      if (first || oldest) continue;
      throw Error(error.kind(), with_holders(error.what(), state_));
    }
  }
}

void TensorStorage::materialize_now(ep::Stream& queue) { data_ = take_memory(&queue); }

void TensorStorage::forget(ep::Stream& queue) {
  queue.free_async(std::exchange(data_, nullptr), bytes_);
}

bool TensorStorage::materialize_with(TensorStorage& dying) {
  const bool is_its_own = !dying.owner_ && !dying.shared_range_;
  const bool fits = !holds_memory_ && !data_ && dying.data_ && is_its_own && dying.on_host_ &&
                    on_host_ && dying.bytes_ == bytes_ && &dying.state_ == &state_;
  if (fits) std::swap(data_, dying.data_);
  return fits;
}

void TensorStorage::enter_shared(vm::VirtualMachine& machine) {
  if (shared_range_ || !data_ || bytes_ == 0) return;
  auto range =
      std::make_unique<vm::SharedRange>(machine.shared_ranges(), dependence_, data_, bytes_);
  if (!shared_range_) shared_range_ = std::move(range);  // no other thread came first
}

void TensorStorage::destroy() {
  leave_shared();  // the owner of foreign memory goes below
  if (on_host_) free_memory();
  this->~TensorStorage();
  ::operator delete(this);
}

void TensorStorage::note_use(vm::Stream& stream, uint64_t position) {
  std::lock_guard<std::mutex> lock(uses_mutex_);
  for (Use& use : uses_) {
    if (use.stream != &stream) continue;
    use.position = position;
    return;
  }
  uses_.push_back({&stream, position});
}

/// Nobody else can reach the memory any more; what is left are launched uses in device queues. A
/// queue that has all of them may reuse the memory at once; uses on several queues leave it to
/// who wants it to wait for them.
void TensorStorage::free_memory() {
  if (!data_ || owner_) return;
  leave_shared();
  if (holds_memory_) {
    data_ = nullptr;
    return;
  }
  std::vector<ep::EventLease> pending;
  if (is_exported_.load(std::memory_order_relaxed) && !wait_for_others(&pending)) return;
  std::vector<ep::QueueUse> uses;
  for (const Use& use : uses_) {
    ep::QueueProgress* progress = use.stream->policy().progress();
    if (!progress->reached(use.position, false)) uses.push_back({progress, use.position});
  }
  state_.device.allocator().free(data_, bytes_, std::move(uses), std::move(pending));
  data_ = nullptr;
}

/// False: the device does not say when others have done with it; the memory is never used again.
bool TensorStorage::wait_for_others(std::vector<ep::EventLease>* pending) {
  try {
    ep::EventLease event = state_.device.events().lease();
    state_.device.interop()->record_all(*event);
    pending->push_back(std::move(event));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace ofl
