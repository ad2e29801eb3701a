// NumPy's rules of casting: which elements may be written into a tensor of another dtype.
#pragma once

#include "base/dtype.h"

namespace ofl {

/// Each rule allows the casts of the one before it. `same_kind` goes from bool to unsigned to
/// signed integers to floats to complex numbers; `unsafe` goes anywhere.
enum class Casting : uint8_t { no, equiv, safe, same_kind, unsafe };

inline constexpr const char* kCastingNames[] = {"no", "equiv", "safe", "same_kind", "unsafe"};

bool can_cast(DType from, DType to, Casting casting);

/// Throws Error(type) unless the rule allows the cast. All writes that cast ask here. No rule turns
/// complex numbers into real ones, as this would lose their imaginary parts without a word.
void require_castable(const char* op, DType from, DType to, Casting casting);

}  // namespace ofl
