// NNVM's memory plan: blocks counted down as they are read, shared, and grown.
#pragma once

#include "graph/memory/free_blocks.h"
#include "graph/order/lanes.h"

namespace ofl::graph {

/// An operation may write its output over an input; numbers are places among them.
struct BlockPair {
  int64_t input, output;
  bool identity;  // the output is the input, so that they may share in any case
};

/// What is planned. Operations have a row each; `ignored`, `pairs`, `devices` and `colours` may be
/// empty: nothing ignored, no pairs, one device, one colour.
struct BlockProgram {
  Rows inputs, outputs;           // values
  Integers elements, item_sizes;  // of each value
  Integers results;               // values that are handed out
  Rows ignored;                   // the places of inputs of which the data is not read
  RowsOf<BlockPair> pairs;        // in the order in which they are tried
  Integers devices, colours;      // of each operation
};

inline constexpr int64_t kNoBlock = -1;   // a variable: nobody makes it
inline constexpr int64_t kNewBlock = -1;  // not in place
inline constexpr int64_t kUnused = -2;    // an output that nobody uses

struct BlockPlan {
  Integers blocks;    // of each value, or kNoBlock
  Integers in_place;  // of each value: the place of the input that it is over, kNewBlock, kUnused
  Integers sizes;     // the bytes of each block
  int64_t bytes = 0;
  int64_t match_range = 0;
};

/// Plans with this range of sizes; or, with `search`, with 1, 2, 4 ... up to it, and takes the
/// first plan of the fewest bytes.
BlockPlan plan_blocks(const BlockProgram& program, int64_t match_range, bool search);

}  // namespace ofl::graph
