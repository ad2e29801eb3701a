// NNVM's allocator, at planning time: blocks that are requested and released, and grow.
//
//   request ─► the smallest free block of [size, size * range] ─┐
//              else the largest of [size / range, size) ────────┼─► a block, as large as ever asked
//              else a new one ──────────────────────────────────┘
//   release ─► free from an operation on ─► request
#pragma once

#include <map>
#include <utility>

#include "graph/order/rows.h"

namespace ofl::graph {

inline constexpr int64_t kMatchRange = 16;  // the largest range of a search, and the usual one

class FreeBlocks {
 public:
  /// Blocks of one pool serve each other: a pool is a device and a colour.
  using Pool = std::pair<int64_t, int64_t>;

  /// With range 0 every block is new.
  FreeBlocks(int64_t range, int64_t operations) : range_(range), released_(operations) {}

  /// Goes on to an operation: what is released by then is free.
  void start(int64_t operation);
  /// A block of at least `size` bytes.
  int64_t request(Pool pool, int64_t size);
  /// The block is free from an operation on; never where that is past the program.
  void release(int64_t block, Pool pool, int64_t from);

  /// The bytes of each block.
  const Integers& sizes() const { return sizes_; }
  int64_t bytes() const;

 private:
  struct Released {
    int64_t block;
    Pool pool;
  };
  using Free = std::multimap<int64_t, int64_t>;  // bytes, block; of equals the oldest first

  int64_t take(Free& free, Free::iterator found, int64_t size);

  int64_t range_;
  std::vector<std::vector<Released>> released_;  // by operation
  std::map<Pool, Free> free_;
  Integers sizes_;
};

/// The ranges that are tried: 1, 2, 4, ... up to `most`, or that one alone.
Integers match_ranges(const char* op, int64_t most, bool search);

}  // namespace ofl::graph
