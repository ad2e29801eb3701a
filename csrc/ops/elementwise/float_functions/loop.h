// From functions of vectors to loops over memory. For regions of wide vectors.
#pragma once

#include "ops/elementwise/float_functions/formulas/double_functions.h"
#include "ops/elementwise/float_functions/formulas/double_sines.h"
#include "ops/elementwise/float_functions/formulas/functions.h"

namespace ofl::ops::float_functions {

namespace {

/// Blocks of two vectors: the processor overlaps them, so wider ones are not faster. One test says
/// whether a block is plain.
template <typename V, typename Function>
struct Blocks {
  using Element = float;
  static constexpr int kVectorsOfBlock = 2;
  static constexpr int64_t kGrain = V::kLanes * kVectorsOfBlock, kMost = INT64_MAX;

  static OFL_INLINE void many(const float* in, float* out, int64_t n, void*) {
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

/// NumPy's loop for a vector, of one input or of several. The bits of a NaN are those in memory.
template <int64_t kCount = Doubles256::kLanes, typename T, typename... Inputs>
void by_numpy(void* numpys, T* out, const Inputs*... in) {
  constexpr int kOperands = 1 + sizeof...(in);
  const auto& called = *static_cast<const CalledLoop*>(numpys);
  char* args[] = {reinterpret_cast<char*>(const_cast<Inputs*>(in))...,
                  reinterpret_cast<char*>(out)};
  const intptr_t count = kCount;
  intptr_t steps[kOperands];
  for (intptr_t& step : steps) step = sizeof(T);
  called.loop(args, &count, steps, called.data);
}

/// Of floats, or of doubles without a table, in blocks of two vectors. A vector with an input that
/// is not plain is NumPy's.
template <typename Function, typename T = float>
struct FloatBlocks {
  using Element = T;
  using V = typename Function::V;
  static constexpr int kVectorsOfBlock = 2;
  static constexpr int64_t kGrain = V::kLanes * kVectorsOfBlock, kMost = INT64_MAX;

  static OFL_INLINE void many(const T* in, T* out, int64_t n, void* numpys) {
    for (int64_t k = 0; k < n; k += kGrain) {
      const typename V::Floats x[] = {V::load(in + k), V::load(in + k + V::kLanes)};
      const auto plain = V::both(Function::are_plain(x[0]), Function::are_plain(x[1]));
      if (__builtin_expect(V::is_all(plain), 1)) {
        for (int j = 0; j < kVectorsOfBlock; ++j) {
          V::store(out + k + V::kLanes * j, Function::of(x[j]));
        }
      } else {
        for (int j = 0; j < kVectorsOfBlock; ++j) {
          some(in + k + V::kLanes * j, out + k + V::kLanes * j, numpys);
        }
      }
    }
  }

 private:
  static void some(const T* in, T* out, void* numpys) {
    const typename V::Floats x = V::load(in);
    if (V::is_all(Function::are_plain(x))) return V::store(out, Function::of(x));
    by_numpy<V::kLanes>(numpys, out, in);
  }
};

/// Of doubles, or of floats in doubles, in blocks of four vectors: first where their rows are.
/// These places go through memory, as to take them from vectors keeps the ports of shuffles busy.
/// A vector with an input that is not plain is NumPy's.
template <typename Function, typename T = double>
struct DoubleBlocks {
  using Element = T;
  using V = Doubles256;
  static constexpr int kVectorsOfBlock = 4;
  static constexpr int64_t kGrain = V::kLanes * kVectorsOfBlock, kMost = INT64_MAX;

  static OFL_INLINE void many(const T* in, T* out, int64_t n, void* numpys) {
    alignas(32) int64_t at[kGrain];
    for (int64_t k = 0; k < n; k += kGrain) {
      typename Function::Reduced x[kVectorsOfBlock];
      for (int j = 0; j < kVectorsOfBlock; ++j) {
        x[j] = Function::reduce(V::load(in + k + V::kLanes * j));
        V::store(at + V::kLanes * j, Function::at(x[j]));
      }
      asm("" : "+m"(at));
      for (int j = 0; j < kVectorsOfBlock; ++j) {
        const int64_t first = k + V::kLanes * j;
        if (__builtin_expect(Function::is_plain(x[j]), 1)) {
          V::store(out + first, Function::of(x[j], at + V::kLanes * j));
        } else {
          by_numpy(numpys, out + first, in + first);
        }
      }
    }
  }
};

/// `out` is `in`, or they are apart. What is left of the last block goes through a copy of it.
template <typename Many, typename T = typename Many::Element>
void apply(const T* in, T* out, int64_t n, void* data) {
  while (n >= Many::kGrain) {
    const int64_t part = (n < Many::kMost ? n : Many::kMost) / Many::kGrain * Many::kGrain;
    Many::many(in, out, part, data);
    in += part;
    out += part;
    n -= part;
  }
  if (n == 0) return;
  T rest[Many::kGrain];
  for (T& value : rest) value = 1;
  std::memcpy(rest, in, static_cast<size_t>(n) * sizeof(T));
  Many::many(rest, rest, Many::kGrain, data);
  std::memcpy(out, rest, static_cast<size_t>(n) * sizeof(T));
}

/// Whether an element that is written may be the input of another one. Elements have kSize bytes.
template <intptr_t kSize>
OFL_INLINE bool reads_what_it_writes(const char* in, intptr_t in_step, const char* out,
                                     intptr_t out_step, intptr_t n) {
  if (in == out && in_step == out_step && (in_step >= kSize || in_step <= -kSize)) {
    return false;
  }
  const intptr_t in_end = in_step * (n - 1), out_end = out_step * (n - 1);
  const char* in_low = in_end < 0 ? in + in_end : in;
  const char* out_low = out_end < 0 ? out + out_end : out;
  const intptr_t in_size = (in_end < 0 ? -in_end : in_end) + kSize;
  const intptr_t out_size = (out_end < 0 ? -out_end : out_end) + kSize;
  return in_low < out_low + out_size && out_low < in_low + in_size;
}

/// The usual case, every other element, has a constant step: compilers make vectors of it.
template <typename T>
OFL_INLINE void gather(const char* in, intptr_t step, T* to, intptr_t n) {
  constexpr intptr_t kEveryOther = 2 * sizeof(T);
  if (step == kEveryOther) {
    for (intptr_t i = 0; i < n; ++i) std::memcpy(to + i, in + i * kEveryOther, sizeof(T));
  } else {
    for (intptr_t i = 0; i < n; ++i) std::memcpy(to + i, in + i * step, sizeof(T));
  }
}

/// Elements at any steps, `block` at a time: they are read before any of them is written.
template <typename Many, typename T = typename Many::Element>
void apply_spread(const char* in, intptr_t in_step, char* out, intptr_t out_step, intptr_t n,
                  intptr_t block, void* data) {
  constexpr intptr_t kBuffer = 256, kSize = sizeof(T);
  const bool in_row = in_step == kSize, out_row = out_step == kSize;
  T values[kBuffer];
  for (intptr_t done = 0; done < n;) {
    intptr_t count = n - done < kBuffer ? n - done : kBuffer;
    if (count > block) count = block;
    if (!in_row) gather(in, in_step, values, count);
    const T* source = in_row ? reinterpret_cast<const T*>(in) : values;
    T* target = out_row ? reinterpret_cast<T*>(out) : values;
    apply<Many>(source, target, count, data);
    for (intptr_t i = 0; i < count && !out_row; ++i) {
      std::memcpy(out + i * out_step, values + i, sizeof(T));
    }
    in += count * in_step;
    out += count * out_step;
    done += count;
  }
}

/// A LoopFn.
template <typename Many>
void loop(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
  using T = typename Many::Element;
  constexpr auto kSize = static_cast<intptr_t>(sizeof(T));
  const intptr_t n = dims[0];
  if (n <= 0) return;
  if (n > 1 && reads_what_it_writes<kSize>(args[0], steps[0], args[1], steps[1], n)) {
    return apply_spread<Many>(args[0], steps[0], args[1], steps[1], n, 1, data);
  }
  if (n == 1 || (steps[0] == kSize && steps[1] == kSize)) {
    return apply<Many>(reinterpret_cast<const T*>(args[0]), reinterpret_cast<T*>(args[1]), n, data);
  }
  apply_spread<Many>(args[0], steps[0], args[1], steps[1], n, n, data);
}

}  // namespace

}  // namespace ofl::ops::float_functions
