// Inputs of a run that are written to, and so may have no bytes in common with other inputs.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace ofl::graph {

/// Two inputs with bytes in common, the first of which is written to. -1: there are none.
struct Clash {
  int64_t written = -1;
  int64_t other = -1;
};

/// Takes count * log(count) steps. Null: an input that is not there yet. `written`: ascending.
Clash find_clash(const Tensor* const* given, int64_t count, const std::vector<int64_t>& written);

}  // namespace ofl::graph
