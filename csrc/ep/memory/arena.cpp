#include "ep/memory/arena.h"

#include <utility>

namespace ofl::ep {

char* Arena::grown(size_t bytes) {
  free();
  try {
    data_ = static_cast<char*>(allocator_.alloc(bytes, nullptr));
  } catch (...) {
    give_back();
    throw;
  }
  bytes_.store(round_up_block(bytes), std::memory_order_relaxed);
  return data_;
}

void Arena::release() {
  if (is_leased_.exchange(true, std::memory_order_acquire)) return;
  free();
  give_back();
}

size_t Arena::idle_bytes() const {
  return is_leased_.load(std::memory_order_relaxed) ? 0 : bytes_.load(std::memory_order_relaxed);
}

void Arena::free() {
  const size_t bytes = bytes_.exchange(0, std::memory_order_relaxed);
  if (bytes) allocator_.free(std::exchange(data_, nullptr), bytes, nullptr);
}

}  // namespace ofl::ep
