// Float32 and float64 functions that loops of our own compute, with the bits of NumPy's loops.
#pragma once

#include "ops/op_def.h"

namespace ofl::ops {

/// A loop and what it is called with.
struct CalledLoop {
  LoopFn loop;
  void* data;
};

/// The loops (LoopFn) that are compiled for one instruction set, by FloatFunction. They take any
/// steps and any count, and may write over their input; a count of elements goes one by one where
/// an output is the input of another one. They leave floating-point flags behind that are not
/// NumPy's; nobody reads these. Those of float64 are called with NumPy's loop, a CalledLoop: it
/// computes the inputs that are not plain.
struct FloatLoops {
  LoopFn float32[kFloatFunctions];
  LoopFn float64[kFloatFunctions];  // null where there is none
};

/// Null where the compiler does not make them.
extern const FloatLoops* const kFloatLoops256;
extern const FloatLoops* const kFloatLoops512;

}  // namespace ofl::ops
