#include "ep/memory/caching_allocator.h"

#include <algorithm>
#include <cstdio>

namespace ofl::ep {

// Locks: Device::alloc, Device::free, Stream::wait and Event::sync may block, so they are called
// without mutex_. The bytes they deal with are in in_transit_ meanwhile, so the limit holds; the
// block is in no bin, so nobody else can take it. Event::done and QueueProgress::reached are quick
// and called inside.

namespace {

constexpr int kPollLimit = 16;  // pending blocks asked for done() by one request
/// Of one size. A queue that is ahead of another by so many blocks waits for it without loss.
constexpr size_t kMostPending = 16;

}  // namespace

bool CachingAllocator::PendingBlock::done() const {
  return std::all_of(events.begin(), events.end(), [](const EventLease& e) { return e->done(); }) &&
         std::all_of(uses.begin(), uses.end(),
                     [](const QueueUse& use) { return use.queue->reached(use.position, true); });
}

std::string bytes_str(size_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  for (; value >= 1024 && unit < 5; ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %s", value, units[unit]);
  return text;
}

CachingAllocator::CachingAllocator(Device& device, const AllocatorOptions& options)
    : device_(device),
      options_(options),
      slabs_(options.max_cached == SIZE_MAX ? options.slab_bytes : 0),
      max_cached_(options.max_cached) {}

CachingAllocator::~CachingAllocator() {
  try {
    sync_pending();
    release_idle();
  } catch (const Error&) {
    // The device is lost, and its memory with it; a destructor has nobody to tell.
  }
}

void* CachingAllocator::alloc(size_t bytes, Stream* stream, uint32_t tag, Fit fit) {
  if (options_.announce_requests) device_.on_alloc_request(bytes);
  if (bytes > kMaxRequest) fail_out_of_memory(bytes);
  const size_t size = round_up_block(bytes);
  if (size <= kSmallBlock) {
    std::lock_guard<std::mutex> lock(mutex_);
    Bin& bin = bins_[bin_of(size)];
    if (!bin.idle.empty()) {
      void* ptr = take(bin, stream);
      cached_ -= size;
      ++cache_hits_;
      adopt(ptr, size, tag);
      return ptr;
    }
  }
  if (fit == Fit::arena && size >= kNeighbourBlock) {
    if (void* ptr = try_arenas(size, stream, tag)) return ptr;
  }
  return alloc_slow(bytes, size, stream, tag);
}

void CachingAllocator::free(void* ptr, size_t bytes, Stream* home,
                            std::vector<EventLease> pending) {
  give_back(bytes, {ptr, home, std::move(pending), {}});
}

void CachingAllocator::free(void* ptr, size_t bytes, std::vector<QueueUse> uses,
                            std::vector<EventLease> pending) {
  Stream* home = uses.size() == 1 && pending.empty() ? &uses.front().queue->queue() : nullptr;
  give_back(bytes, {ptr, home, std::move(pending), std::move(uses)});
}

void CachingAllocator::forget_queue(const QueueProgress& queue) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (Bin& bin : bins_) {
    for (PendingBlock& block : bin.pending) {
      const auto gone = [&queue](const QueueUse& use) { return use.queue == &queue; };
      block.uses.erase(std::remove_if(block.uses.begin(), block.uses.end(), gone),
                       block.uses.end());
    }
  }
}

void CachingAllocator::give_back(size_t bytes, PendingBlock block) {
  void* const ptr = block.ptr;
  std::vector<IdleBlock> evicted;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const size_t size = forget(ptr, bytes);
    Bin& bin = bins_[bin_of(size)];
    bin.last_use = ++clock_;
    if (!block.events.empty() || !block.uses.empty()) {
      bin.pending.push_back(std::move(block));
      cached_ += size;
    } else if (size > max_cached_) {
      evicted.push_back({ptr, size});
    } else {
      if (cached_ + size > max_cached_) evict(size, &evicted);
      bin.idle.push_back(ptr);
      cached_ += size;
    }
  }
  for (const IdleBlock& block : evicted) device_.free(block.ptr, block.size);
}

size_t CachingAllocator::release_cache() {
  std::lock_guard<std::mutex> ladder(ladder_mutex_);
  return release_idle();
}

void CachingAllocator::set_limit(size_t bytes) {
  bool is_over = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    limit_ = bytes;
    const bool is_bounded = options_.max_cached != SIZE_MAX && bytes > 0;
    max_cached_ = is_bounded ? std::min(options_.max_cached, bytes / 2) : options_.max_cached;
    is_over = cached_ > max_cached_ || (bytes > 0 && in_use_ + cached_ > bytes);
  }
  if (is_over) release_cache();
}

AllocatorStats CachingAllocator::stats() const {
  std::lock_guard<std::mutex> lock(mutex_);
  const size_t idle = idle_memory_ ? std::min(idle_memory_->idle_bytes(), in_use_) : 0;
  AllocatorStats stats;
  stats.in_use = in_use_ - idle;
  stats.cached = cached_ + idle;
  stats.peak_in_use = peak_in_use_;
  stats.peak_held = peak_held_;
  stats.allocs = cache_hits_ + device_allocs_;
  stats.cache_hits = cache_hits_;
  stats.device_allocs = device_allocs_;
  return stats;
}

std::vector<TagUsage> CachingAllocator::largest_holders(size_t count) const {
  std::unordered_map<uint32_t, TagUsage> usage;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (small_blocks_ > 0) usage[0] = {0, in_use_ - large_in_use_, small_blocks_};
    for (const auto& entry : large_) {
      TagUsage& owner = usage[entry.second.tag];
      owner.tag = entry.second.tag;
      owner.bytes += entry.second.size;
      ++owner.blocks;
    }
  }
  std::vector<TagUsage> holders;
  for (const auto& entry : usage) holders.push_back(entry.second);
  std::sort(holders.begin(), holders.end(), [](const TagUsage& a, const TagUsage& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.tag < b.tag;
  });
  if (holders.size() > count) holders.resize(count);
  return holders;
}

// ---- the ladder ----

void* CachingAllocator::alloc_slow(size_t bytes, size_t size, Stream* stream, uint32_t tag) {
  if (void* ptr = try_cache(size, last_bin_for(size), stream, tag)) return ptr;
  if (void* ptr = take_over_pending(kMostPending, size, stream, tag)) return ptr;
  if (void* ptr = try_device(size, tag)) return ptr;
  return climb_ladder(bytes, size, stream, tag);
}

void* CachingAllocator::climb_ladder(size_t bytes, size_t size, Stream* stream, uint32_t tag) {
  std::lock_guard<std::mutex> ladder(ladder_mutex_);
  // Whoever was on the ladder before may have left memory.
  if (void* ptr = try_cache(size, last_bin_for(size), stream, tag)) return ptr;
  if (void* ptr = try_device(size, tag)) return ptr;
  if (void* ptr = take_over_pending(1, size, stream, tag)) return ptr;
  release_idle();
  if (void* ptr = try_device(size, tag)) return ptr;
  sync_pending();
  if (void* ptr = try_cache(size, last_bin_for(size), stream, tag)) return ptr;
  release_idle();
  if (void* ptr = try_device(size, tag)) return ptr;
  fail_out_of_memory(bytes);
}

/// Where none serves, the smaller ones that are idle go: the new one takes their place.
void* CachingAllocator::try_arenas(size_t size, Stream* stream, uint32_t tag) {
  const int bin = bin_of(size);
  std::unique_lock<std::mutex> lock(mutex_);
  is_arena_bin_.set(static_cast<size_t>(bin));
  last_arena_bin_ = std::max(last_arena_bin_, bin);
  const int last_bin = std::max(last_bin_for(size), last_arena_bin_);
  lock.unlock();
  if (void* ptr = try_cache(size, last_bin, stream, tag)) return ptr;
  std::vector<IdleBlock> outgrown;
  size_t total = 0;
  lock.lock();
  for (int smaller = bin_of(kNeighbourBlock); smaller < bin; ++smaller) {
    if (!is_arena_bin_[static_cast<size_t>(smaller)] || slabs_.serves(bin_size(smaller))) continue;
    is_arena_bin_.reset(static_cast<size_t>(smaller));
    while (void* ptr = take(bins_[smaller], nullptr)) {
      outgrown.push_back({ptr, bin_size(smaller)});
      total += bin_size(smaller);
    }
  }
  cached_ -= total;
  in_transit_ += total;
  lock.unlock();
  for (const IdleBlock& block : outgrown) device_.free(block.ptr, block.size);
  lock.lock();
  in_transit_ -= total;
  return nullptr;
}

void* CachingAllocator::try_cache(size_t size, int last_bin, Stream* stream, uint32_t tag) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (int bin = bin_of(size); bin <= last_bin; ++bin) {
    void* ptr = take(bins_[bin], stream);
    if (ptr == nullptr) continue;
    cached_ -= bin_size(bin);
    ++cache_hits_;
    adopt(ptr, bin_size(bin), tag);
    return ptr;
  }
  return nullptr;
}

void* CachingAllocator::try_device(size_t size, uint32_t tag) {
  if (slabs_.serves(size)) {
    if (void* ptr = try_slab(size, tag)) return ptr;
  }
  void* ptr = ask_device(size);
  if (ptr == nullptr) return nullptr;
  std::lock_guard<std::mutex> lock(mutex_);
  in_transit_ -= size;
  adopt(ptr, size, tag);
  peak_held_ = std::max(peak_held_, in_use_ + cached_);
  return ptr;
}

/// Where a slab is refused, a block of its own may still be had.
void* CachingAllocator::try_slab(size_t size, uint32_t tag) {
  std::lock_guard<std::mutex> making(slab_mutex_);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (void* ptr = carve(size, tag)) {
      ++cache_hits_;
      return ptr;
    }
  }
  void* const slab = ask_device(slabs_.slab_bytes());
  if (slab == nullptr) return nullptr;
  std::lock_guard<std::mutex> lock(mutex_);
  slabs_.add(slab);
  in_transit_ -= slabs_.slab_bytes();
  cached_ += slabs_.slab_bytes();
  peak_held_ = std::max(peak_held_, in_use_ + cached_);
  return carve(size, tag);
}

void* CachingAllocator::ask_device(size_t size) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (limit_ > 0 && in_use_ + cached_ + in_transit_ + size > limit_) return nullptr;
    in_transit_ += size;
  }
  try {
    void* const ptr = device_.alloc(size);
    std::lock_guard<std::mutex> lock(mutex_);
    ++device_allocs_;
    return ptr;
  } catch (const Error& error) {
    std::lock_guard<std::mutex> lock(mutex_);
    in_transit_ -= size;
    if (error.kind() != ErrorKind::out_of_memory) throw;
    return nullptr;
  }
}

void* CachingAllocator::take_over_pending(size_t fewest, size_t size, Stream* stream,
                                          uint32_t tag) {
  if (stream == nullptr) return nullptr;
  std::unique_lock<std::mutex> lock(mutex_);
  int bin = bin_of(size);
  while (bin <= last_bin_for(size) && bins_[bin].pending.size() < fewest) ++bin;
  if (bin > last_bin_for(size)) return nullptr;
  std::vector<PendingBlock>& blocks = bins_[bin].pending;
  PendingBlock block = std::move(blocks.front());
  blocks.erase(blocks.begin());
  cached_ -= bin_size(bin);
  in_transit_ += bin_size(bin);
  lock.unlock();
  try {
    for (const EventLease& event : block.events) stream->wait(*event);
    for (const QueueUse& use : block.uses) {
      if (EventLease event = use.queue->event_after(use.position)) stream->wait(*event);
    }
  } catch (const Error&) {
    lock.lock();
    in_transit_ -= bin_size(bin);
    cached_ += bin_size(bin);
    blocks.push_back(std::move(block));
    throw;
  }
  lock.lock();
  in_transit_ -= bin_size(bin);
  ++cache_hits_;
  adopt(block.ptr, bin_size(bin), tag);
  return block.ptr;
}

// Ends: the events were recorded in queues that run without help of the caller.
void CachingAllocator::sync_pending() {
  std::vector<EventLease> events;
  std::vector<QueueUse> uses;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const Bin& bin : bins_) {
      for (const PendingBlock& block : bin.pending) {
        events.insert(events.end(), block.events.begin(), block.events.end());
        uses.insert(uses.end(), block.uses.begin(), block.uses.end());
      }
    }
  }
  for (const QueueUse& use : uses) {
    if (EventLease event = use.queue->event_after(use.position)) events.push_back(std::move(event));
  }
  for (const EventLease& event : events) event->sync();
  std::lock_guard<std::mutex> lock(mutex_);
  promote_done_blocks();
}

size_t CachingAllocator::release_idle() {
  if (idle_memory_) idle_memory_->release();
  std::vector<IdleBlock> idle;
  size_t total = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    promote_done_blocks();
    total = take_idle_blocks(&idle);
    cached_ -= total;
    in_transit_ += total;
  }
  for (const IdleBlock& block : idle) device_.free(block.ptr, block.size);
  std::lock_guard<std::mutex> lock(mutex_);
  in_transit_ -= total;
  return total;
}

void CachingAllocator::fail_out_of_memory(size_t bytes) {
  const MemoryInfo memory = device_.memory_info();
  const size_t unused = memory.capacity > memory.held ? memory.capacity - memory.held : 0;
  std::lock_guard<std::mutex> lock(mutex_);
  const std::string limit = limit_ > 0 ? concat("limit ", bytes_str(limit_), ", ") : "";
  throw CapacityError(
      concat("[", device_.id().str(), "] out of memory: asked for ", bytes_str(bytes), ", held ",
             bytes_str(in_use_), " in live blocks and ", bytes_str(cached_), " in the cache, ",
             limit, "capacity ", bytes_str(memory.capacity), " (", bytes_str(unused), " free)"));
}

// ---- bookkeeping, with mutex_ held ----

void* CachingAllocator::take(Bin& bin, Stream* stream) {
  bin.last_use = ++clock_;
  if (!bin.idle.empty()) {
    void* ptr = bin.idle.back();
    bin.idle.pop_back();
    return ptr;
  }
  std::vector<PendingBlock>& blocks = bin.pending;
  auto found = std::find_if(blocks.begin(), blocks.end(), [stream](const PendingBlock& block) {
    return stream != nullptr && block.home == stream;
  });
  if (found == blocks.end()) {
    const auto last = blocks.begin() + std::min<size_t>(blocks.size(), kPollLimit);
    found =
        std::find_if(blocks.begin(), last, [](const PendingBlock& block) { return block.done(); });
    if (found == last) return nullptr;
  }
  void* ptr = found->ptr;
  blocks.erase(found);
  return ptr;
}

void CachingAllocator::adopt(void* ptr, size_t size, uint32_t tag) {
  if (size <= kSmallBlock) {
    ++small_blocks_;
  } else {
    large_[ptr] = {size, tag};
    large_in_use_ += size;
  }
  in_use_ += size;
  if (in_use_ > peak_in_use_) peak_in_use_ = in_use_;
}

size_t CachingAllocator::forget(void* ptr, size_t bytes) {
  size_t size = round_up_block(bytes);
  if (size <= kSmallBlock) {
    --small_blocks_;
  } else {
    const auto found = large_.find(ptr);
    if (found == large_.end()) {
      fail(ErrorKind::runtime, "[", device_.id().str(), "] free of ", ptr, " (", bytes,
           " bytes), which is not a live block");
    }
    size = found->second.size;  // may be the next class
    large_.erase(found);
    large_in_use_ -= size;
  }
  in_use_ -= size;
  return size;
}

void* CachingAllocator::carve(size_t size, uint32_t tag) {
  void* const ptr = slabs_.carve(size);
  if (ptr == nullptr) return nullptr;
  cached_ -= size;
  adopt(ptr, size, tag);
  return ptr;
}

/// Out of the bins what can go back to the device: whole slabs, and blocks that are in none.
size_t CachingAllocator::take_idle_blocks(std::vector<IdleBlock>* idle) {
  for (int bin = 0; bin < kBinCount; ++bin) {
    for (void* ptr : bins_[bin].idle) slabs_.count_idle(ptr, bin_size(bin));
  }
  for (int bin = 0; bin < kBinCount; ++bin) {
    std::vector<void*> staying;
    for (void* ptr : bins_[bin].idle) {
      const Slabs::Place place = slabs_.place_of(ptr);
      if (place == Slabs::Place::outside) idle->push_back({ptr, bin_size(bin)});
      if (place == Slabs::Place::in_use) staying.push_back(ptr);
    }
    bins_[bin].idle.swap(staying);
  }
  for (void* slab : slabs_.take_idle()) idle->push_back({slab, slabs_.slab_bytes()});
  size_t total = 0;
  for (const IdleBlock& block : *idle) total += block.size;
  return total;
}

void CachingAllocator::promote_done_blocks() {
  for (Bin& bin : bins_) {
    std::vector<PendingBlock> waiting;
    for (PendingBlock& block : bin.pending) {
      if (block.done()) {
        bin.idle.push_back(block.ptr);
      } else {
        waiting.push_back(std::move(block));
      }
    }
    bin.pending = std::move(waiting);
  }
}

// Makes room in a bounded cache: the bins that nobody used for longest go first.
void CachingAllocator::evict(size_t room, std::vector<IdleBlock>* evicted) {
  while (cached_ + room > max_cached_) {
    Bin* oldest = nullptr;
    for (Bin& bin : bins_) {
      if (!bin.idle.empty() && (oldest == nullptr || bin.last_use < oldest->last_use)) {
        oldest = &bin;
      }
    }
    if (oldest == nullptr) return;
    const size_t size = bin_size(static_cast<int>(oldest - bins_));
    while (!oldest->idle.empty() && cached_ + room > max_cached_) {
      evicted->push_back({oldest->idle.back(), size});
      oldest->idle.pop_back();
      cached_ -= size;
    }
  }
}

}  // namespace ofl::ep
