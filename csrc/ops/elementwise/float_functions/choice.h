// Which loop computes a FloatFunction of float32 or float64: NumPy's, or one of our own.
#pragma once

#include <string>
#include <vector>

#include "base/vectors.h"
#include "ops/elementwise/float_functions/float_functions.h"

namespace ofl::ops {

/// A loop of our own runs where it has NumPy's bits at all inputs of the check, on this processor
/// and with the features that NumPy is limited to, and is faster.
struct LoopChoice {
  CalledLoop numpys = {nullptr, nullptr};
  Isa isa = Isa::baseline;  // of our loop
  bool exists = false;      // there is one for the instruction sets in use
  int64_t inputs = 0;       // that were compared
  int64_t differences = 0;  // results that differ
  double speed = 0;         // how many times as fast as NumPy's it is, measured in the cache
  bool is_own() const { return exists && differences == 0 && speed > 1; }
};

/// Lets the resolution, which has NumPy's loop, run the loop of our own where that is chosen. The
/// first call for a function and a dtype chooses, in less than a millisecond. Any thread.
void use_own_loop(FloatFunction function, Resolution* resolution);

/// A sentence for reports: what was chosen for this dtype. It is empty before the first use, and if
/// no instruction set has a loop of our own. Any thread.
std::string describe_choice(FloatFunction function, DType dtype);

}  // namespace ofl::ops
