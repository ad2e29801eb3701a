// Places for the temporaries of a program, so that what is in use at the same time does not
// overlap.
#pragma once

#include "graph/memory/lifetimes.h"

namespace ofl::graph {

inline constexpr int64_t kArena = -1;     // a space: not in the memory of a result
inline constexpr int64_t kNoMemory = -1;  // an offset: nobody uses it

struct Packing {
  Integers spaces;    // of each class: kArena, or the result in whose memory it is
  Integers offsets;   // bytes, or kNoMemory
  int64_t bytes = 0;  // of the arena
};

/// Which gap takes a class.
enum class Fit : uint8_t { smallest, lowest };

/// Each in turn goes to a gap that takes it, in the memory of a result that begins later or in the
/// arena; else behind what it conflicts with. Time: quadratic.
Packing pack(const Lifetimes& lifetimes, const Integers& order, Fit fit);

/// The best fit in the order of time, for any number of classes, without the memory of results: a
/// sweep over the program that keeps what is free. Time: n log n.
Packing pack_by_time(const Lifetimes& lifetimes);

/// NNVM's blocks, one after the other.
Packing pack_in_blocks(const Lifetimes& lifetimes, int64_t match_range);

}  // namespace ofl::graph
