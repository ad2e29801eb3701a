#include "base/vectors.h"
#include "ops/elementwise/arithmetic/arithmetic.h"

namespace ofl::ops {

namespace {

LoopFn own_loop(Arithmetic operation, DType dtype) {
  const ArithmeticLoops* const none = nullptr;
  static const ArithmeticLoops* const loops =
      choose_by_isa("arithmetic", none, kArithmeticLoops256);
  const LoopFn* const of_dtype = loops ? loops->of_dtype[static_cast<int>(dtype)] : nullptr;
  return of_dtype ? of_dtype[static_cast<int>(operation)] : nullptr;
}

}  // namespace

void use_arithmetic_loop(Arithmetic operation, int inputs, Resolution* resolution) {
  if (operation == Arithmetic::none) return;
  const DType dtype = resolution->in[0];
  if (resolution->out != (operation >= Arithmetic::less ? DType::b1 : dtype)) return;
  for (int k = 1; k < inputs; ++k) {
    if (resolution->in[k] != dtype) return;
  }
  const LoopFn loop = own_loop(operation, dtype);
  if (!loop) return;
  resolution->data = new CalledLoop{resolution->loop, resolution->data};  // as long as the row
  resolution->loop = loop;
}

}  // namespace ofl::ops
