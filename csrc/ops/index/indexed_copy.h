// Copies between places of one array, given as byte offsets, and a line of another one: what all
// gathers and scatters end in.
#pragma once

#include "ops/array_args.h"

namespace ofl::ops {

enum class CopyDirection : uint8_t { gather, scatter };

/// At each place of `placed` starts a block of its dimensions from `placed_dims` on, and at each
/// step of `lined` one of its dimensions from `lined_dims` on; the blocks have one shape.
class IndexedCopy {
 public:
  IndexedCopy(CopyDirection direction, const ArrayView& placed, int placed_dims,
              const ArrayView& lined, int lined_dims);

  /// Copies n blocks in order: the one at placed + offsets[i] and the one at lined + i * step.
  void run(char* placed, const int64_t* offsets, int64_t n, char* lined, int64_t step) const;

 private:
  struct Row {
    int64_t dim;
    int64_t placed;  // strides
    int64_t lined;
  };
  using PlacesFn = void (*)(char* placed, const int64_t* offsets, int64_t n, char* lined,
                            int64_t step, int64_t bytes);
  using RowFn = void (*)(char* placed, char* lined, const Row& row);

  template <typename Word>
  void use_words(CopyDirection direction);
  void choose(CopyDirection direction);
  template <typename Body>
  void for_each_block_row(int rows, Body&& body) const;

  SmallVector<Row, 4> rows_;  // of a block, the one with the smallest steps in `placed` last
  int64_t bytes_;             // that lie together in both, at each position of the rows
  bool empty_ = false;
  bool row_by_row_ = false;  // a block's last row is copied before the next place's turn
  PlacesFn copy_places_ = nullptr;
  RowFn copy_row_ = nullptr;
};

}  // namespace ofl::ops
