// Route: what one rank sends and receives in a step. It follows from the step, the rank and the
// dtype alone, and programs repeat their steps.
#pragma once

#include <vector>

#include "base/dtype.h"
#include "distributed/layouts/exchange.h"
#include "distributed/layouts/plan.h"

namespace ofl::distributed {

/// A piece, and the elements of each message that it goes by.
struct Leg {
  Piece piece;
  int64_t by;
};

struct Route {
  std::vector<int32_t> ranks;  // that communicate
  bool is_before, is_after;    // this rank is in the placement
  Box before, after;           // this rank's part
  std::vector<Leg> sends;      // to others
  std::vector<Leg> receives;   // what the rank has itself is among them
};

/// Valid until the thread asks for another one. The step is one of plan_boxing().
const Route& route_of(const BoxingStep& step, int32_t rank, DType dtype);

}  // namespace ofl::distributed
