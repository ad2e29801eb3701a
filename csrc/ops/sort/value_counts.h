// How often each value occurs among many small ones.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ofl::ops {

/// Up to so many bins, several tables of them stay in the L1 cache.
inline constexpr int64_t kFewBins = 1024;

/// Adds to counts[v] how often v, of [0, bins), occurs among n values. False where there are
/// others: those are not counted. An increment waits for the one before of the same place. So, of
/// few bins, neighbours are counted in tables of their own.
template <typename T>
bool add_counts(const T* values, int64_t n, int64_t bins, int64_t* counts) {
  constexpr int kTables = 4;
  const auto most = static_cast<uint64_t>(bins);
  if (bins > kFewBins || n < 4 * kTables * bins) {
    int64_t others = 0;
    for (int64_t i = 0; i < n; ++i) {
      const auto value = static_cast<uint64_t>(values[i]);
      if (value < most) {
        ++counts[value];
      } else {
        ++others;
      }
    }
    return others == 0;
  }
  int64_t tables[kTables][kFewBins + 1];  // the last place: all others
  for (auto& table : tables) std::fill_n(table, bins + 1, int64_t{0});
  const auto count = [&](int64_t i, int k) {
    ++tables[k][std::min(static_cast<uint64_t>(values[i + k]), most)];
  };
  int64_t i = 0;
  for (; i + kTables <= n; i += kTables) {
    for (int k = 0; k < kTables; ++k) count(i, k);
  }
  for (; i < n; ++i) count(i, 0);
  int64_t others = 0;
  for (const auto& table : tables) {
    for (int64_t bin = 0; bin < bins; ++bin) counts[bin] += table[bin];
    others += table[bins];
  }
  return others == 0;
}

}  // namespace ofl::ops
