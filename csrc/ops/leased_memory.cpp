#include "ops/leased_memory.h"

#include <algorithm>
#include <new>
#include <utility>

#include "ep/cpu/host_memory.h"

namespace ofl::ops {

void MemoryPool::Free::operator()(char* memory) const { ep::free_host_memory(memory); }

MemoryPool::Memory MemoryPool::allocate(size_t bytes) {
  Memory memory;
  memory.data.reset(static_cast<char*>(ep::allocate_host_memory(bytes)));
  if (!memory.data) throw std::bad_alloc();
  memory.bytes = bytes;
  return memory;
}

LeasedMemory::LeasedMemory(MemoryPool& pool, size_t bytes) : pool_(pool) {
  {
    std::lock_guard<std::mutex> lock(pool.mutex_);
    if (!pool.idle_.empty()) {
      memory_ = std::move(pool.idle_.back());
      pool.idle_.pop_back();
    } else {
      pool.idle_.reserve(++pool.leases_);  // to give it back needs no memory
    }
  }
  if (memory_.bytes >= bytes) return;
  memory_ = {};
  memory_ = MemoryPool::allocate(bytes);
}

LeasedMemory::~LeasedMemory() {
  std::lock_guard<std::mutex> lock(pool_.mutex_);
  if (pool_.has_room_for(memory_)) pool_.idle_.push_back(std::move(memory_));
}

bool MemoryPool::has_room_for(const Memory& memory) const {
  const auto is_large = [](const Memory& one) { return one.bytes >= kLarge; };
  return !is_large(memory) ||
         std::count_if(idle_.begin(), idle_.end(), is_large) < static_cast<int64_t>(kMostLarge);
}

}  // namespace ofl::ops
