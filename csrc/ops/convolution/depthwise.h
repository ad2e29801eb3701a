// Sums over windows where a group has few channels: loops along rows.
#pragma once

#include "ops/convolution/window_sums.h"

namespace ofl::ops {

/// Whether loops along rows are for these sums: of up to three channels of a group, whose positions
/// and results follow each other; or of blocks of channels that are groups of one each.
bool has_row_sums(const WindowSums& sums, bool is_blocked);

/// As run_window_sums(), with the same bits.
template <typename T>
void run_row_sums(const WindowSums& sums, const T* weights, Images<T>& images, int64_t count,
                  const Results<T>& out, ep::HelperPool* helpers);

extern template void run_row_sums<float>(const WindowSums&, const float*, Images<float>&, int64_t,
                                         const Results<float>&, ep::HelperPool*);
extern template void run_row_sums<double>(const WindowSums&, const double*, Images<double>&,
                                          int64_t, const Results<double>&, ep::HelperPool*);

}  // namespace ofl::ops
