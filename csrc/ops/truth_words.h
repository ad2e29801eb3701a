// Which bits of the words of an element make it true, if one of them is set.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/dtype.h"

namespace ofl::ops {

/// Elements of `parts` words, which are true where the words joined have a bit of the mask. A NaN
/// has; of floating-point numbers the mask leaves out the signs.
template <typename Joined, int parts = 1, Joined mask = static_cast<Joined>(~Joined{0})>
struct TruthWords {
  using Word = Joined;
  static constexpr int64_t kSize = parts * int64_t{sizeof(Word)};

  /// Not zero where the element is true.
  static Word at(const char* from) {
    Word bits = 0;
    for (int part = 0; part < parts; ++part) {
      Word word;
      std::memcpy(&word, from + part * sizeof(Word), sizeof(Word));
      bits |= word;
    }
    return bits & mask;
  }
};

/// Calls visit(TruthWords()) with those of a dtype.
template <typename Visit>
auto visit_truth_words(DType dtype, Visit&& visit) {
  constexpr uint64_t kMagnitude = ~uint64_t{0} >> 1;
  switch (dtype) {
    case DType::f16:
    case DType::bf16: return visit(TruthWords<uint16_t, 1, 0x7fff>());
    case DType::f32: return visit(TruthWords<uint32_t, 1, 0x7fffffff>());
    case DType::f64: return visit(TruthWords<uint64_t, 1, kMagnitude>());
    case DType::c64: return visit(TruthWords<uint64_t, 1, 0x7fffffff7fffffff>());
    case DType::c128: return visit(TruthWords<uint64_t, 2, kMagnitude>());
    default: break;
  }
  switch (size_of(dtype)) {
    case 1: return visit(TruthWords<uint8_t>());
    case 2: return visit(TruthWords<uint16_t>());
    case 4: return visit(TruthWords<uint32_t>());
    default: return visit(TruthWords<uint64_t>());
  }
}

}  // namespace ofl::ops
