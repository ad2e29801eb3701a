// A matrix product that a device's library computes: what ep::Stream::gemm takes.
#pragma once

#include <cstdint>

namespace ofl::ep {

enum class GemmType : uint8_t { f16, bf16, f32, f64, c64, c128 };

/// Where the matrices of an operand lie. Steps are counted in elements.
struct GemmOperand {
  const void* data;
  bool transposed;  // its columns are contiguous, not its rows
  int64_t lead;     // from one row (or column) to the next; at least the length of one
  int64_t stride;   // from one matrix of the batch to the next; 0: they all are one
};

/// out = a @ b, `count` times; m x n from m x k and k x n, none of them 0. Rows of `out` are
/// contiguous. Half precision is summed in float32.
struct GemmCall {
  GemmType type;
  int64_t m, k, n;
  GemmOperand a, b;
  void* out;
  int64_t out_lead, out_stride;
  int64_t count;
  bool rounds;  // factors of float32 may be rounded to 10 bits
};

}  // namespace ofl::ep
