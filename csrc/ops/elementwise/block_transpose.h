// Transposes small blocks by the vectors of the processor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ofl::ops {

inline constexpr int kMostSide = 16;

/// Transposes a square block of `side` lines, dense along each, to `offset` from as many places;
/// in bytes.
struct BlockTranspose {
  using Fn = void (*)(const char* in, int64_t in_step, char* const* places, int64_t offset);
  int64_t side = 0;  // 0: there is none
  Fn run = nullptr;
};

/// That of elements of so many bytes.
BlockTranspose block_transpose(size_t item_size);

}  // namespace ofl::ops
