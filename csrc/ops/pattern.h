// What fusion, and passes over whole programs, may do with an operation. Its row says which.
#pragma once

#include <cstdint>

namespace ofl::ops {

// The numbers are those of Pattern, Effect and Linear in oneflow_lite/ops/table.py.

/// What an element of the result is made of. A larger number allows less fusion.
enum class Pattern : uint8_t {
  elementwise = 0,  // the elements of the operands at its place
  broadcast = 1,    // the same, where operands are repeated along dimensions
  injective = 2,    // one element of an operand, wherever that is
  reduction = 3,    // many elements of an operand
  out_fusable = 4,  // anything; elementwise work on it may follow before it is in memory
  opaque = 8        // anything
};

/// What an operation does beside making its result. One without an effect may be left out, done
/// twice, or done once for two.
enum class Effect : uint8_t { none, draws, looks, host_function };

/// Of what sums f(a1 + a2 + ...) is the sum of f(ai): of all operands at once, of one operand while
/// the others stay the same, or of the first one only.
enum class Linear : uint8_t { none, all, one, first };

}  // namespace ofl::ops
