// From functions of vectors to loops over memory. For regions of wide vectors.
#pragma once

#include "ops/elementwise/float_functions/functions.h"

namespace ofl::ops::float_functions {

namespace {

/// Blocks of two vectors: the processor overlaps them, so wider ones are not faster. One test says
/// whether a block is plain.
template <typename V, typename Function>
struct Blocks {
  static constexpr int kVectorsOfBlock = 2;
  static constexpr int64_t kGrain = V::kLanes * kVectorsOfBlock, kMost = INT64_MAX;

  static OFL_INLINE void many(const float* in, float* out, int64_t n) {
    for (int64_t k = 0; k < n; k += kGrain) {
      typename V::Floats x[kVectorsOfBlock];
      for (int j = 0; j < kVectorsOfBlock; ++j) x[j] = V::load(in + k + V::kLanes * j);
      const auto key = V::largest_unsigned(Function::key(x[0]), Function::key(x[1]));
      if (__builtin_expect(V::none_above(key, Function::kLimit), 1)) {
        Function::common(x);
      } else {
        for (int j = 0; j < kVectorsOfBlock; ++j) x[j] = Function::any(x[j]);
      }
      for (int j = 0; j < kVectorsOfBlock; ++j) V::store(out + k + V::kLanes * j, x[j]);
    }
  }
};

/// `out` is `in`, or they are apart. What is left of the last block goes through a copy of it.
template <typename Many>
void apply(const float* in, float* out, int64_t n) {
  while (n >= Many::kGrain) {
    const int64_t part = (n < Many::kMost ? n : Many::kMost) / Many::kGrain * Many::kGrain;
    Many::many(in, out, part);
    in += part;
    out += part;
    n -= part;
  }
  if (n == 0) return;
  float rest[Many::kGrain];
  for (float& value : rest) value = 1.0f;
  std::memcpy(rest, in, static_cast<size_t>(n) * sizeof(float));
  Many::many(rest, rest, Many::kGrain);
  std::memcpy(out, rest, static_cast<size_t>(n) * sizeof(float));
}

constexpr intptr_t kFloatSize = sizeof(float);

/// Whether an element that is written may be the input of another one.
OFL_INLINE bool reads_what_it_writes(const char* in, intptr_t in_step, const char* out,
                                     intptr_t out_step, intptr_t n) {
  if (in == out && in_step == out_step && (in_step >= kFloatSize || in_step <= -kFloatSize)) {
    return false;
  }
  const intptr_t in_end = in_step * (n - 1), out_end = out_step * (n - 1);
  const char* in_low = in_end < 0 ? in + in_end : in;
  const char* out_low = out_end < 0 ? out + out_end : out;
  const intptr_t in_size = (in_end < 0 ? -in_end : in_end) + kFloatSize;
  const intptr_t out_size = (out_end < 0 ? -out_end : out_end) + kFloatSize;
  return in_low < out_low + out_size && out_low < in_low + in_size;
}

/// Elements at any steps, `block` at a time: they are read before any of them is written.
template <typename Many>
void apply_spread(const char* in, intptr_t in_step, char* out, intptr_t out_step, intptr_t n,
                  intptr_t block) {
  constexpr intptr_t kBuffer = 256;
  float values[kBuffer];
  for (intptr_t done = 0; done < n;) {
    intptr_t count = n - done < kBuffer ? n - done : kBuffer;
    if (count > block) count = block;
    for (intptr_t i = 0; i < count; ++i) std::memcpy(values + i, in + i * in_step, kFloatSize);
    apply<Many>(values, values, count);
    for (intptr_t i = 0; i < count; ++i) std::memcpy(out + i * out_step, values + i, kFloatSize);
    in += count * in_step;
    out += count * out_step;
    done += count;
  }
}

/// A LoopFn.
template <typename Many>
void loop(char** args, const intptr_t* dims, const intptr_t* steps, void*) {
  const intptr_t n = dims[0];
  if (n <= 0) return;
  if (n > 1 && reads_what_it_writes(args[0], steps[0], args[1], steps[1], n)) {
    return apply_spread<Many>(args[0], steps[0], args[1], steps[1], n, 1);
  }
  if (n == 1 || (steps[0] == kFloatSize && steps[1] == kFloatSize)) {
    return apply<Many>(reinterpret_cast<const float*>(args[0]), reinterpret_cast<float*>(args[1]),
                       n);
  }
  apply_spread<Many>(args[0], steps[0], args[1], steps[1], n, n);
}

}  // namespace

}  // namespace ofl::ops::float_functions
