// What a call of philox_kernel says of its draw, and how much is computed at a time.
#pragma once

namespace ofl::ops {

/// Its attr: the distribution, the key, the counter's two words, two parameters. That of a window
/// goes on with the number of its first element, and the step of each dimension.
enum DrawAttr { kDistribution, kKey, kLow, kHigh, kFirst, kSecond, kFirstNumber, kFirstStep };

inline constexpr int kCounterWords = 4;
/// How many are computed at a time: some vectors.
inline constexpr int kCounters = 256;

}  // namespace ofl::ops
