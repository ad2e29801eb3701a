#include "ops/elementwise/bfloat16_loops.h"

#include "base/half.h"

namespace ofl::ops {

namespace {

constexpr uint16_t kSign = 0x8000, kInfinity = 0x7f80;

uint16_t magnitude(BFloat16 x) { return static_cast<uint16_t>(x.bits & ~kSign); }

BFloat16 next_after(BFloat16 x, BFloat16 y) {
  const float from = bfloat16_to_float(x), to = bfloat16_to_float(y);
  if (from != from || to != to) return float_to_bfloat16(from + to);
  if (from == to) return y;
  if (from == 0) return {static_cast<uint16_t>((y.bits & kSign) | 1)};
  const bool away = (from < to) == (from > 0);
  return {static_cast<uint16_t>(away ? x.bits + 1 : x.bits - 1)};
}

/// To the next number away from 0, with the sign of x.
BFloat16 spacing(BFloat16 x) {
  const float value = bfloat16_to_float(x);
  if (magnitude(x) >= kInfinity) return float_to_bfloat16(value - value);
  const BFloat16 next{static_cast<uint16_t>(x.bits + 1)};
  const BFloat16 distance = float_to_bfloat16(bfloat16_to_float(next) - value);
  return {static_cast<uint16_t>(magnitude(distance) | (x.bits & kSign))};
}

BFloat16 load(const char* from) {
  BFloat16 value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

void spacing_loop(char** args, const intptr_t* dims, const intptr_t* steps, void*) {
  for (intptr_t i = 0; i < dims[0]; ++i) {
    const BFloat16 result = spacing(load(args[0] + i * steps[0]));
    std::memcpy(args[1] + i * steps[1], &result, sizeof result);
  }
}

void next_after_loop(char** args, const intptr_t* dims, const intptr_t* steps, void*) {
  for (intptr_t i = 0; i < dims[0]; ++i) {
    const BFloat16 result = next_after(load(args[0] + i * steps[0]), load(args[1] + i * steps[1]));
    std::memcpy(args[2] + i * steps[2], &result, sizeof result);
  }
}

}  // namespace ofl::ops
