// The unit of estimated work.
#pragma once

namespace ofl {

/// A float32 addition of large arrays: the unit of all costs, in nanoseconds.
inline constexpr double kAdditionNs = 0.3;

}  // namespace ofl
