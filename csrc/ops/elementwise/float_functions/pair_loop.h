// From powers of vectors to loops over two inputs. For regions that are compiled for AVX2.
#pragma once

#include "ops/elementwise/float_functions/formulas/powers.h"
#include "ops/elementwise/float_functions/loop.h"

namespace ofl::ops::float_functions {

namespace {

/// Powers of doubles, or of floats in doubles: a block of four vectors. A negative base is plain
/// where the exponent is an integer, which gives the sign.
template <typename Power, typename T>
struct PowerBlock {
  using Element = T;
  using V = Doubles256;
  static constexpr int kVectors = 4;
  static constexpr int64_t kElements = V::kLanes * kVectors;

  static OFL_INLINE void make(const T* bases, const T* exponents, T* out, void* numpys) {
    alignas(32) int64_t at[kElements];
    V::Floats x[kVectors], y[kVectors], plain[kVectors];
    typename Power::Log log[kVectors];
    for (int j = 0; j < kVectors; ++j) {
      x[j] = V::load(bases + V::kLanes * j);
      y[j] = V::load(exponents + V::kLanes * j);
      plain[j] = Power::are_plain(V::magnitude(x[j]), y[j]);
      V::store(at + V::kLanes * j, Power::log_at(V::magnitude(x[j])));
    }
    asm("" : "+m"(at));
    for (int j = 0; j < kVectors; ++j) {
      log[j] = Power::log(V::magnitude(x[j]), y[j], at + V::kLanes * j);
      plain[j] = V::both(plain[j], V::less(Power::magnitude(log[j]), V::all(Power::kLimit)));
    }
    for (int j = 0; j < kVectors; ++j) V::store(at + V::kLanes * j, Power::power_at(log[j]));
    asm("" : "+m"(at));
    for (int j = 0; j < kVectors; ++j) {
      V::Floats power = Power::power(log[j], at + V::kLanes * j);
      if (V::is_any(x[j])) power = with_sign(power, x[j], y[j], &plain[j]);
      const int64_t first = V::kLanes * j;
      if (__builtin_expect(V::is_all(plain[j]), 1)) {
        V::store(out + first, power);
      } else {
        by_numpy(numpys, out + first, bases + first, exponents + first);
      }
    }
  }

 private:
  /// Negative bases to odd powers are negative; to powers that are no integers they are not plain.
  static OFL_INLINE V::Floats with_sign(V::Floats power, V::Floats x, V::Floats y,
                                        V::Floats* plain) {
    constexpr double kRounding = 0x1.8p52;  // a sum with it has an integer in its low bits
    const V::Floats sum = V::add(y, V::all(kRounding));
    const V::Floats is_integer = V::both(V::equal(V::subtract(sum, V::all(kRounding)), y),
                                         V::less(V::magnitude(y), V::all(0x1p51)));
    const V::Floats negative = V::less(x, V::all(0.0));
    *plain = V::and_not(*plain, V::and_not(negative, is_integer));
    const V::Ints odd = V::left<63>(V::as_ints(sum));
    return V::as_floats(V::bits_xor(V::as_ints(power), V::bits_and(odd, V::as_ints(negative))));
  }
};

/// `count` elements as they lie if these are whole blocks, else in the buffer, with ones behind.
template <typename T, int64_t kElements>
OFL_INLINE const T* in_a_row(const char* from, intptr_t step, intptr_t count, T* buffer) {
  if (step == intptr_t{sizeof(T)} && count % kElements == 0) {
    return reinterpret_cast<const T*>(from);
  }
  for (intptr_t i = 0; i < count; ++i) std::memcpy(buffer + i, from + i * step, sizeof(T));
  for (intptr_t i = count; i % kElements != 0; ++i) buffer[i] = 1;
  return buffer;
}

/// Whether NumPy's loop multiplies, divides or takes roots instead, for one exponent.
template <typename T>
OFL_INLINE bool is_simple(T exponent) {
  return exponent == T(-1) || exponent == T(0) || exponent == T(0.5) || exponent == T(1) ||
         exponent == T(2);
}

/// A LoopFn of two inputs.
template <typename Block, typename T = typename Block::Element>
void pair_loop(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
  constexpr auto kSize = static_cast<intptr_t>(sizeof(T));
  constexpr intptr_t kBuffer = 16 * Block::kElements;
  const intptr_t n = dims[0];
  if (n <= 0) return;
  T exponent;
  std::memcpy(&exponent, args[1], sizeof(T));
  if (steps[1] == 0 && is_simple(exponent)) {
    const auto& called = *static_cast<const CalledLoop*>(data);
    return called.loop(args, dims, steps, called.data);
  }
  const bool one_by_one =
      n > 1 && (reads_what_it_writes<kSize>(args[0], steps[0], args[2], steps[2], n) ||
                reads_what_it_writes<kSize>(args[1], steps[1], args[2], steps[2], n));
  const intptr_t most = one_by_one ? 1 : kBuffer;
  T first[kBuffer], second[kBuffer], results[kBuffer];
  for (intptr_t done = 0; done < n; done += most) {
    const intptr_t count = n - done < most ? n - done : most;
    const T* const x =
        in_a_row<T, Block::kElements>(args[0] + done * steps[0], steps[0], count, first);
    const T* const y =
        in_a_row<T, Block::kElements>(args[1] + done * steps[1], steps[1], count, second);
    char* const out = args[2] + done * steps[2];
    const bool in_place = steps[2] == kSize && count % Block::kElements == 0;
    T* const to = in_place ? reinterpret_cast<T*>(out) : results;
    for (intptr_t k = 0; k < count; k += Block::kElements) Block::make(x + k, y + k, to + k, data);
    if (in_place) continue;
    for (intptr_t i = 0; i < count; ++i) std::memcpy(out + i * steps[2], to + i, sizeof(T));
  }
}

}  // namespace

}  // namespace ofl::ops::float_functions
