// What is drawn from counted random numbers, and how: see philox_kernel in ops/array_args.h.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "ops/array_args.h"
#include "ops/random/draw_attr.h"

namespace ofl::ops {

struct DrawWindow;

/// attr[kDistribution] of the kernel.
enum class Distribution : int64_t { words, uniform, normal, exponential, bernoulli, small, large };

/// Elements [begin, end) of the output, which get numbers that follow each other.
struct DrawRange {
  int64_t number;  // of the first one
  int64_t begin, end;
};

/// A row for each distribution and dtype that there is.
struct DrawRow {
  Distribution distribution;
  DType dtype;
  const char* name;  // of what ops/random/philox_numbers.h draws by
  int words;         // of random bits for a number; a counter gives four
  /// Writes a range of the output, or elements of a window: then `number` does not count.
  void (*fill)(const ArrayArgs& args, const DrawRange& range, const DrawWindow* window);
};

/// Error(type) where there is none.
const DrawRow& draw_row(const ArrayArgs& args);

}  // namespace ofl::ops
