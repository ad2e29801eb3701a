// The bits that NumPy's numbers are made of, and how its functions take them.
#pragma once

#include <cstdint>

#include "ops/random/pcg64.h"

namespace ofl::ops {

/// The state of numpy.random.PCG64: words, and half a word that is left of the last one.
struct NumpyBits {
  Pcg64 words;
  bool has_half;
  uint32_t half;
};

/// The bitgen_t of numpy/random/bitgen.h; python/random/many.cpp compares both.
struct BitGenerator {
  void* state;
  uint64_t (*next_uint64)(void* state);
  uint32_t (*next_uint32)(void* state);
  double (*next_double)(void* state);
  uint64_t (*next_raw)(void* state);
};

}  // namespace ofl::ops
