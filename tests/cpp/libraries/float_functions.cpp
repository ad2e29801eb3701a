// The float32 loops of exp, log, tanh, sin and cos, and the check before they are used, for
// tests/ops/elementwise/test_float_functions.py.
#include "ops/elementwise/float_functions/float_functions.h"

#include "ops/elementwise/float_functions/agreement.h"

using namespace ofl::ops;

namespace {

LoopFn loop_of(int bits, int function) {
  const FloatLoops* loops = bits == 512 ? kFloatLoops512 : kFloatLoops256;
  return loops ? loops->of[function] : nullptr;
}

/// A reference whose results the loops have, but where an input is `odd`: there the last bit moves.
struct Odd {
  LoopFn loop;
  float odd;
};

void odd_loop(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
  const auto& given = *static_cast<const Odd*>(data);
  given.loop(args, dims, steps, nullptr);
  for (intptr_t i = 0; i < dims[0]; ++i) {
    const auto& in = *reinterpret_cast<const float*>(args[0] + i * steps[0]);
    auto& out = *reinterpret_cast<uint32_t*>(args[1] + i * steps[1]);
    if (in == given.odd) out ^= 1;
  }
}

/// The loop, but with other last bits where elements are not beside each other.
void gap_loop(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
  const auto& given = *static_cast<const Odd*>(data);
  given.loop(args, dims, steps, nullptr);
  if (steps[0] == sizeof(float)) return;
  *reinterpret_cast<uint32_t*>(args[1]) ^= 1;
}

}  // namespace

extern "C" {

bool exists(int bits, int function) { return loop_of(bits, function) != nullptr; }

void* loop_address(int bits, int function) {
  return reinterpret_cast<void*>(loop_of(bits, function));
}

void call(int bits, int function, char* in, intptr_t in_step, char* out, intptr_t out_step,
          intptr_t n) {
  char* args[] = {in, out};
  const intptr_t steps[] = {in_step, out_step};
  loop_of(bits, function)(args, &n, steps, nullptr);
}

int64_t differences(int bits, int function, void* reference) {
  const auto points = check_points(static_cast<FloatFunction>(function));
  const CalledLoop other{reinterpret_cast<LoopFn>(reference), nullptr};
  return count_differences(points, other, {loop_of(bits, function), nullptr});
}

int64_t differences_from_odd(int bits, int function, float odd) {
  const auto points = check_points(static_cast<FloatFunction>(function));
  Odd given{loop_of(bits, function), odd};
  return count_differences(points, {odd_loop, &given}, {given.loop, nullptr});
}

int64_t differences_in_gaps(int bits, int function) {
  const auto points = check_points(static_cast<FloatFunction>(function));
  Odd given{loop_of(bits, function), 0};
  return count_differences(points, {gap_loop, &given}, {given.loop, nullptr});
}

int64_t points(int function, float* to, int64_t most) {
  const auto found = check_points(static_cast<FloatFunction>(function));
  for (int64_t i = 0; i < static_cast<int64_t>(found.size()) && i < most; ++i) to[i] = found[i];
  return static_cast<int64_t>(found.size());
}
}
