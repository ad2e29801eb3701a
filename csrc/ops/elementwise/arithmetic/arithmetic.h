// Loops of our own for arithmetic that one instruction does. NumPy's are two to four times as slow
// where the operands are in the nearest cache, as those of fused groups are.
#pragma once

#include "ops/op_def.h"

namespace ofl::ops {

/// The loops that are compiled for one instruction set. They are called with NumPy's loop, a
/// CalledLoop, and leave to it what is not as usual: operands with gaps, one that overlaps the
/// output, a reduction. They leave floating-point flags behind that are not NumPy's; nobody reads
/// these.
struct ArithmeticLoops {
  const LoopFn* of_dtype[kDTypeCount] = {};  // by Arithmetic; null: there are none
};

/// Null where the compiler does not make them. For processors with AVX-512, too: these loops wait
/// for memory or for the divider, which are as fast with vectors of half its width.
extern const ArithmeticLoops* const kArithmeticLoops256;

/// Lets the resolution, which has NumPy's loop, run the loop of our own where there is one for the
/// instruction sets in use. IEEE 754 says what the results are, so the bits are NumPy's; which of
/// two NaNs a result is, it does not say, so that is left to NumPy's loop. Any thread.
void use_arithmetic_loop(Arithmetic operation, int inputs, Resolution* resolution);

}  // namespace ofl::ops
