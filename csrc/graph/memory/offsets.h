// The memory plan: several packings are tried, and the smallest arena wins.
#pragma once

#include <string>

#include "graph/memory/packing.h"

namespace ofl::graph {

struct Candidate {
  std::string name;  // "size", "lifetime", "product", "time", "blocks 16", "moves"
  int64_t bytes;
};

struct MemoryPlan {
  Packing packing;
  int64_t bound = 0;  // no arena is smaller
  std::string name;   // of the candidate that won
  std::vector<Candidate> tried;
};

/// Best fits in the orders of size, lifetime, their product, and time; NNVM's blocks with ranges 1
/// to 16; and, of up to 1700 classes, a search that moves some. It stops at the lower bound. More
/// than 10,000 classes are packed by time and in blocks only, in n log n steps.
MemoryPlan plan_offsets(const MemoryNeeds& needs);

/// The largest sum of the bytes that are in use at one time, rounded to the alignment.
int64_t lower_bound(const Integers& sizes, const Rows& users, int64_t alignment);

}  // namespace ofl::graph
