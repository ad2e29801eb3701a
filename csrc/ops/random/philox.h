// What is drawn from counted random numbers, and how: see philox_kernel in ops/array_args.h.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "ops/array_args.h"

namespace ofl::ops {

/// attr[0] of the kernel.
enum class Distribution : int64_t { words, uniform, normal, exponential, bernoulli, small, large };

/// A row for each distribution and dtype that there is.
struct DrawRow {
  Distribution distribution;
  DType dtype;
  const char* name;  // of what ops/random/philox_numbers.h draws by
  int words;         // of random bits for a number; a counter gives four
  /// Writes numbers [begin, end) of the call; `begin` is a multiple of 4.
  void (*fill)(const ArrayArgs& args, int64_t begin, int64_t end);
};

/// Error(type) where there is none.
const DrawRow& draw_row(const ArrayArgs& args);

}  // namespace ofl::ops
