#include "driver/memory.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "driver/config.h"
#include "driver/race_view.h"

#if defined(__SANITIZE_ADDRESS__)
extern "C" void __asan_poison_memory_region(const volatile void*, size_t);
extern "C" void __asan_unpoison_memory_region(const volatile void*, size_t);
#endif

namespace simcuda {
namespace {

constexpr uint64_t kTag = 0x5B;
constexpr size_t kAlignment = 512;
constexpr size_t kGuardBytes = 64;
constexpr unsigned char kGuard = 0xFB;
constexpr size_t kPoisonedEnd = size_t{1} << 20;  // of a block that is not filled

uint64_t next_id() {
  static std::atomic<uint64_t> counter{0};
  return counter.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

bool is_tagged(uint64_t word) {
  const auto number = static_cast<int64_t>((word >> 48) & 0xff);
  return word >> 56 == kTag && number >= 1 && number <= config().devices;
}

Block::Block(BlockKind kind, int device, char* host, size_t bytes, unsigned flags)
    : kind_(kind), device_(device), host_(host), bytes_(bytes), flags_(flags), id_(next_id()) {}

Block::~Block() {
  if (kind_ != BlockKind::device && kind_ != BlockKind::pinned) return;
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(host_, bytes_);
#endif
  std::free(host_);
}

char* Block::allocate(size_t bytes) {
  if (bytes > kAddressMask) return nullptr;
  // AddressSanitizer has its own guard right behind the last byte.
#if defined(__SANITIZE_ADDRESS__)
  void* memory = nullptr;
  return posix_memalign(&memory, kAlignment, bytes) == 0 ? static_cast<char*>(memory) : nullptr;
#else
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignment, bytes + kGuardBytes) != 0) return nullptr;
  std::memset(static_cast<char*>(memory) + bytes, kGuard, kGuardBytes);
  return static_cast<char*>(memory);
#endif
}

DevicePtr Block::address() const {
  const auto address = reinterpret_cast<uint64_t>(host_);
  if (!is_on_device()) return address;
  return kTag << 56 | uint64_t(device_ + 1) << 48 | address;
}

void Block::poison(unsigned char value) {
  if (kind_ != BlockKind::device) return;
  if (bytes_ <= static_cast<uint64_t>(config().poison)) {
    std::memset(host_, value, bytes_);
    return;
  }
  const size_t end = std::min(kPoisonedEnd, bytes_);
  std::memset(host_, value, end);
  std::memset(host_ + bytes_ - end, value, end);
}

bool Block::is_guard_intact() const {
#if !defined(__SANITIZE_ADDRESS__)
  if (kind_ == BlockKind::device || kind_ == BlockKind::pinned) {
    const char* const guard = host_ + bytes_;
    return std::all_of(guard, guard + kGuardBytes,
                       [](char byte) { return static_cast<unsigned char>(byte) == kGuard; });
  }
#endif
  return true;
}

void Block::retire() {
  poison(0xDD);
#if defined(__SANITIZE_ADDRESS__)
  if (kind_ == BlockKind::device) __asan_poison_memory_region(host_, bytes_);
#endif
}

void MemoryMap::add(std::shared_ptr<Block> block) {
  const HiddenFromRaceDetector hidden;
  std::lock_guard lock(mutex_);
  const auto address = reinterpret_cast<uint64_t>(block->host());
  blocks_[address] = std::move(block);
}

bool MemoryMap::remove(const Block& block) {
  const HiddenFromRaceDetector hidden;
  std::lock_guard lock(mutex_);
  const auto it = blocks_.find(reinterpret_cast<uint64_t>(block.host()));
  if (it == blocks_.end() || it->second.get() != &block) return false;
  blocks_.erase(it);
  return true;
}

std::shared_ptr<Block> MemoryMap::find(uint64_t pointer, size_t bytes) {
  const HiddenFromRaceDetector hidden;
  const auto address = reinterpret_cast<uint64_t>(host_address(pointer));
  std::lock_guard lock(mutex_);
  auto it = blocks_.upper_bound(address);
  if (it == blocks_.begin()) return nullptr;
  const std::shared_ptr<Block>& block = (--it)->second;
  const uint64_t offset = address - it->first;
  const bool is_inside = offset < block->bytes() && bytes <= block->bytes() - offset;
  return is_inside && pointer - offset == block->address() ? block : nullptr;
}

std::shared_ptr<Block> MemoryMap::find_device(uint64_t word) {
  if (!is_tagged(word)) return nullptr;
  if (auto block = find(word, 0)) return block;
  return find(word - 1, 1);  // one past the end
}

bool MemoryMap::overlaps(const void* host, size_t bytes) {
  const HiddenFromRaceDetector hidden;
  const auto begin = reinterpret_cast<uint64_t>(host);
  std::lock_guard lock(mutex_);
  const auto it = blocks_.lower_bound(begin + bytes);
  return it != blocks_.begin() && std::prev(it)->first + std::prev(it)->second->bytes() > begin;
}

std::vector<std::shared_ptr<Block>> MemoryMap::take_device(int device) {
  const HiddenFromRaceDetector hidden;
  std::vector<std::shared_ptr<Block>> taken;
  std::lock_guard lock(mutex_);
  for (auto it = blocks_.begin(); it != blocks_.end();) {
    if (it->second->device() != device) {
      ++it;
      continue;
    }
    taken.push_back(std::move(it->second));
    it = blocks_.erase(it);
  }
  return taken;
}

size_t MemoryMap::count(BlockKind kind) {
  std::lock_guard lock(mutex_);
  return static_cast<size_t>(std::count_if(
      blocks_.begin(), blocks_.end(), [kind](auto& row) { return row.second->kind() == kind; }));
}

size_t MemoryMap::bytes(BlockKind kind) {
  const HiddenFromRaceDetector hidden;
  std::lock_guard lock(mutex_);
  size_t sum = 0;
  for (const auto& row : blocks_) sum += row.second->kind() == kind ? row.second->bytes() : 0;
  return sum;
}

MemoryMap& memory_map() {
  static MemoryMap* const instance = new MemoryMap;
  return *instance;
}

}  // namespace simcuda
