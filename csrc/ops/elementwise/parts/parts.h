// Loops of our own for what numbers are made of: whole numbers and fractions, mantissas and
// exponents, quotients and remainders.
#pragma once

#include "ops/op_def.h"

namespace ofl::ops {

/// The loop of a part for the dtypes of a resolution; null: there is none. Loops of the first four
/// parts are there for all floats: NumPy's make two results. The others are called with NumPy's
/// loop, a CalledLoop, and leave to it what is not as usual. They leave floating-point flags behind
/// that are not NumPy's; nobody reads these.
using FindPartLoop = LoopFn (*)(Part part, const Resolution& resolution);

/// For every processor.
LoopFn find_part_loop(Part part, const Resolution& resolution);

/// The loops that are compiled for one instruction set.
struct PartLoops {
  FindPartLoop find;
};
/// Null where the compiler does not make them.
extern const PartLoops* const kPartLoops256;

/// Lets the resolution, which has NumPy's loop, run the loop of our own for the instruction sets in
/// use, where there is one. The bits are NumPy's. Any thread.
void use_part_loop(Part part, Resolution* resolution);

}  // namespace ofl::ops
