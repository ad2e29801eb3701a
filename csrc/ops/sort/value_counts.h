// How often each value occurs among many small ones.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ofl::ops {

/// Up to so many bins, several tables of them stay in the L1 cache.
inline constexpr int64_t kFewBins = 1024;

/// Adds to counts[v] how often v, of [0, bins), occurs among n values. An increment waits for the
/// one before of the same place. So, of few bins, neighbours are counted in tables of their own.
template <typename T>
void add_counts(const T* values, int64_t n, int64_t bins, int64_t* counts) {
  constexpr int kTables = 4;
  if (bins > kFewBins || n < 4 * kTables * bins) {
    for (int64_t i = 0; i < n; ++i) ++counts[values[i]];
    return;
  }
  int64_t tables[kTables][kFewBins];
  for (auto& table : tables) std::fill_n(table, bins, int64_t{0});
  const int64_t rounds = n / kTables;
  for (int64_t i = 0; i < rounds; ++i) {
    for (int k = 0; k < kTables; ++k) ++tables[k][values[i * kTables + k]];
  }
  for (int64_t i = rounds * kTables; i < n; ++i) ++counts[values[i]];
  for (const auto& table : tables) {
    for (int64_t bin = 0; bin < bins; ++bin) counts[bin] += table[bin];
  }
}

}  // namespace ofl::ops
