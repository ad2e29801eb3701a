// PCG64: the source of random bits that numpy.random.default_rng() has. A linear congruential
// generator of 128 bits, whose state is permuted to words of 64 bits (XSL RR 128/64 of M. E.
// O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random
// Number Generation", HMC-CS-2014-0905).
#pragma once

#include <cstdint>

#ifdef __SIZEOF_INT128__

namespace ofl::ops {

struct Pcg64 {
  using State = unsigned __int128;
  static constexpr State kFactor = (State{2549297995355413924u} << 64) + 4865540595714422341u;

  State state, increment;

  /// The word that belongs to a state.
  static uint64_t word(State state) {
    const auto high = static_cast<uint64_t>(state >> 64);
    const uint64_t mixed = high ^ static_cast<uint64_t>(state);
    const unsigned turns = high >> 58;
    return (mixed >> turns) | (mixed << (-turns & 63));
  }

  uint64_t next() {
    state = state * kFactor + increment;
    return word(state);
  }

  /// As if so many words had been taken. F. Brown, "Random Number Generation with Arbitrary
  /// Stride", Trans. Am. Nucl. Soc. 1994.
  void advance(uint64_t count) {
    State factor = kFactor, sum = increment;
    for (; count > 0; count >>= 1) {
      if (count & 1) state = state * factor + sum;
      sum *= factor + 1;
      factor *= factor;
    }
  }

  /// The next words. Some are made side by side, as each step waits for a product.
  void fill(uint64_t* words, int64_t count) {
    constexpr int kSide = 4;
    State side[kSide];
    State factor = 1, sum = 0;  // of so many steps at once
    Pcg64 each = *this;
    for (State& one : side) {
      each.next();
      one = each.state;
      factor *= kFactor;
      sum = sum * kFactor + increment;
    }
    int64_t i = 0;
    for (; i + kSide <= count; i += kSide) {
#pragma GCC unroll 4
      for (int k = 0; k < kSide; ++k) {
        words[i + k] = word(side[k]);
        side[k] = side[k] * factor + sum;
      }
    }
    for (int k = 0; i + k < count; ++k) words[i + k] = word(side[k]);
    advance(static_cast<uint64_t>(count));
  }
};

}  // namespace ofl::ops

#endif
