// The sizes of an allocator's blocks: multiples of 64 up to 1 KiB, then 8 for each power of two.
#pragma once

#include <cstddef>

namespace ofl::ep {

inline constexpr size_t kMaxRequest = size_t{1} << 62;
inline constexpr int kBinCount = 432;  // size classes of 64 bytes to kMaxRequest
/// From here on a block of the next class serves a request, too.
inline constexpr size_t kNeighbourBlock = size_t{1} << 20;

inline constexpr int kLinearBins = 16;  // multiples of 64 up to 1 KiB
inline constexpr int kLinearBits = 10;

inline int floor_log2(size_t value) { return 63 - __builtin_clzll(value); }

/// Size class of a request of up to kMaxRequest: a multiple of 64, never 0, and for requests from
/// 512 bytes on at most 12.5 % larger.
inline size_t round_up_block(size_t bytes) {
  size_t step = 64;
  if (bytes > 1024) step = size_t{1} << (floor_log2(bytes - 1) - 3);
  return bytes == 0 ? step : (bytes + step - 1) & ~(step - 1);
}

/// The number of a size class. Above 1 KiB: size = (8 + j) * 2^(k - 3), where
/// 2^k < size <= 2^(k + 1) and j = 1..8.
inline int bin_of(size_t size) {
  if (size <= 1024) return static_cast<int>(size / 64) - 1;
  const int k = floor_log2(size - 1);
  return kLinearBins + (k - kLinearBits) * 8 + static_cast<int>(size >> (k - 3)) - 9;
}

inline size_t bin_size(int bin) {
  if (bin < kLinearBins) return (static_cast<size_t>(bin) + 1) * 64;
  const int k = kLinearBits + (bin - kLinearBins) / 8;
  return static_cast<size_t>(9 + (bin - kLinearBins) % 8) << (k - 3);
}

/// The last class that serves a request of this class. Neighbours are at most 12.5 % apart.
inline int last_bin_for(size_t size) {
  const int bin = bin_of(size);
  return size >= kNeighbourBlock && bin + 1 < kBinCount ? bin + 1 : bin;
}

}  // namespace ofl::ep
