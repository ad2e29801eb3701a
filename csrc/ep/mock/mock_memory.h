// Tagged addresses: kMockTag in bits 56..63, the device index in bits 48..55, the real address
// below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace ofl::ep {

/// Memory of mock:N is tagged: the address a user sees has this bit set (and N in the bits below
/// it), so that the host cannot touch it by luck.
inline constexpr int kMockTagShift = 56;
inline constexpr uint64_t kMockTag = 0x4d;  // non-canonical on x86-64 and AArch64 without TBI use

/// Index of the mock device whose memory `ptr` is; nullopt for host memory.
std::optional<int> mock_owner(const void* ptr);

/// The address at which the host can touch memory of a mock device.
void* mock_untag(const void* ptr);

/// "0x7f.. is memory of mock:1", "0x7f.. is host memory".
std::string describe_memory(const void* ptr);

/// Tagged, 64-byte aligned memory, poisoned at its ends; nullptr when the host has none.
void* mock_alloc_raw(size_t bytes, int index);
/// Poisons the ends again, so that a use after free shows.
void mock_free_raw(void* ptr, size_t bytes);

}  // namespace ofl::ep
