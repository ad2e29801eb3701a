// Transposes small blocks by the vectors of the processor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ofl::ops {

inline constexpr int kMostSide = 16;

/// Transposes blocks of lines, dense along each, to `offset` from places; in bytes.
struct BlockTranspose {
  using Square = void (*)(const char* in, int64_t in_step, char* const* places, int64_t offset);
  using Rest = void (*)(const char* in, int64_t in_step, char* const* places, int64_t offset,
                        int64_t count, int64_t lines);
  int64_t side = 0;      // 0: there is none
  Square run = nullptr;  // `side` lines to as many places
  Rest some = nullptr;   // `lines` of `count` elements: to so many places
};

/// That of elements of so many bytes.
BlockTranspose block_transpose(size_t item_size);

}  // namespace ofl::ops
