#include "ep/mock/mock_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace ofl::ep {

namespace {

constexpr int kIndexShift = 48;
constexpr uint64_t kAddressMask = (uint64_t{1} << kIndexShift) - 1;
constexpr size_t kPoisonBytes = 4096;  // at each end: big blocks stay cheap
constexpr int kFreshPoison = 0xCD;
constexpr int kFreedPoison = 0xDD;

void poison(void* host, size_t bytes, int value) {
  const size_t length = std::min(bytes, kPoisonBytes);
  std::memset(host, value, length);
  std::memset(static_cast<unsigned char*>(host) + bytes - length, value, length);
}

}  // namespace

std::optional<int> mock_owner(const void* ptr) {
  const uint64_t address = reinterpret_cast<uint64_t>(ptr);
  if (address >> kMockTagShift != kMockTag) return std::nullopt;
  return static_cast<int>(address >> kIndexShift & 0xff);
}

void* mock_untag(const void* ptr) {
  return reinterpret_cast<void*>(reinterpret_cast<uint64_t>(ptr) & kAddressMask);
}

std::string describe_memory(const void* ptr) {
  const std::optional<int> owner = mock_owner(ptr);
  return owner ? concat(ptr, " is memory of mock:", *owner) : concat(ptr, " is host memory");
}

void* mock_alloc_raw(size_t bytes, int index) {
  void* host = nullptr;
  if (posix_memalign(&host, 64, std::max<size_t>(bytes, 1)) != 0) return nullptr;
  poison(host, bytes, kFreshPoison);
  const uint64_t tag = kMockTag << kMockTagShift | static_cast<uint64_t>(index) << kIndexShift;
  return reinterpret_cast<void*>(reinterpret_cast<uint64_t>(host) | tag);
}

void mock_free_raw(void* ptr, size_t bytes) {
  void* host = mock_untag(ptr);
  poison(host, bytes, kFreedPoison);
  std::free(host);
}

}  // namespace ofl::ep
