// Transposes small blocks by the vectors of the processor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ofl::ops {

/// Transposes a square block of `side` lines, dense along each; steps in bytes.
struct BlockTranspose {
  using Fn = void (*)(const char* in, int64_t in_step, char* out, int64_t out_step);
  int64_t side = 0;  // 0: there is none
  Fn run = nullptr;
};

/// That of elements of so many bytes.
BlockTranspose block_transpose(size_t item_size);

}  // namespace ofl::ops
