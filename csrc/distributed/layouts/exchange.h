// Exchange: the pieces that ranks send each other so that a tensor gets another layout. They are
// intersections of boxes, found by arithmetic. A rank only looks at ranks that it has something in
// common with.
#pragma once

#include <vector>

#include "distributed/layouts/layout.h"

namespace ofl::distributed {

/// Elements that a rank gets from another one, or gives it. A rank gives itself some, too.
struct Piece {
  int32_t rank;
  Box box;       // of the whole tensor
  int64_t part;  // which of several partial values it is, counted row-major over their axes
};

/// Both layouts are of one shape. The second one has no partial value, but where both have the same
/// at one axis of one placement: there each rank keeps its own. Error(value) for others.
void require_exchangeable(const Layout& from, const Layout& to);

/// By place of the sender, and part. From several holders of one value a rank takes what it holds
/// itself, else that of the holder at its own place, counted round.
std::vector<Piece> received(const Layout& from, const Layout& to, int32_t rank);
/// By place of the receiver. Each piece that one rank sends another one receives.
std::vector<Piece> sent(const Layout& from, const Layout& to, int32_t rank);

/// Bytes that come from other ranks.
int64_t bytes_received(const Layout& from, const Layout& to, int32_t rank, int64_t itemsize);

}  // namespace ofl::distributed
