// Special values of the array API standard where NumPy has others: floor division by or of
// infinities, expm1 and tanh of complex infinities and NaNs.
#pragma once

#include "ops/op_def.h"

namespace ofl::ops {

/// True when the loops of a ufunc of this name have other values somewhere.
bool has_standard_values(const std::string& ufunc);

/// The resolution has them.
bool has_standard_values(const Resolution& resolution);

/// Puts the standard's values into what the resolution's loop makes of special operands. The
/// replacement lives as long as the process.
void use_standard_values(const std::string& ufunc, Resolution* resolution);

}  // namespace ofl::ops
