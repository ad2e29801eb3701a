// Float32 and float64 functions that loops of our own compute, with the bits of NumPy's loops.
#pragma once

#include "ops/op_def.h"

namespace ofl::ops {

/// The loops (LoopFn) that are compiled for one instruction set, by FloatFunction; null where there
/// is none. They take any steps and any count, and may write over their input; a count of elements
/// goes one by one where an output is the input of another one. They leave floating-point flags
/// behind that are not NumPy's; nobody reads these. They are called with NumPy's loop, a
/// CalledLoop: for those of the C library, and all of float64, it computes what is not plain.
struct FloatLoops {
  LoopFn float32[kFloatFunctions];
  LoopFn float64[kFloatFunctions];
};

inline constexpr int inputs_of(FloatFunction function) {
  return function == FloatFunction::pow ? 2 : 1;
}

/// A number in the domain of the function; for none, in the domains of all functions but acosh.
inline constexpr double sample_of(FloatFunction function) {
  return function == FloatFunction::acosh ? 1.5 : 0.5;
}

/// Whether there is a loop for some instruction set: each set has the same ones.
inline constexpr bool has_own_loop(FloatFunction function, DType dtype) {
  if (function == FloatFunction::none) return false;
  if (dtype == DType::f32) return true;
  switch (function) {
    case FloatFunction::exp:
    case FloatFunction::log:
    case FloatFunction::sin:
    case FloatFunction::cos:
    case FloatFunction::pow:
    case FloatFunction::exp2:
    case FloatFunction::log2:
    case FloatFunction::log10:
    case FloatFunction::expm1:
    case FloatFunction::log1p:
    case FloatFunction::cbrt:
    case FloatFunction::sinh:
    case FloatFunction::atanh:
    case FloatFunction::cosh:
    case FloatFunction::asinh:
    case FloatFunction::acosh: return dtype == DType::f64;
    default: return false;
  }
}

/// Null where the compiler does not make them.
extern const FloatLoops* const kFloatLoops256;
extern const FloatLoops* const kFloatLoops512;

}  // namespace ofl::ops
