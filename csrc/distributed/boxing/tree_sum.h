// Sums whose bits do not depend on the number of ranks: over blocks, which ranks hold in any
// number.
//
//   blocks:    0 1 2 3 | 4 5 6 7          0 1 2 | 3 4 5         of two ranks
//                                         0 1 2 3 | 4 5         what does not fit moves
//   of a rank: (01)(23)   (45)(67)        (01)(23)  (45)
//   across:        ((0123) (4567))            ((0123) (45))     the tree of the ranks
#pragma once

#include "distributed/boxing/assemble.h"

namespace ofl::distributed {

/// The sum over all blocks in the balanced tree of their positions, (0 + 1) + (2 + 3), ... Each
/// rank of a row has those of a range of positions, in their order. All have the sum, in memory of
/// its own. By the ranks of the row. `shape`: of a block.
Tensor tree_sum(const Issuer& issuer, Member& member, const Placement& row,
                const std::vector<Range>& ranges, DType dtype, const Dims& shape, Device home,
                std::vector<Tensor> own);

/// The same of blocks of which a rank knows its own only: first those of the first rank of a
/// placement. All ranks of the world call it, and it waits until they have told each other what
/// they have. Error(value) on all ranks for blocks of two shapes or dtypes, and for none.
Whole tree_sum(const Issuer& issuer, Member& member, const Placement& placement, Device home,
               std::vector<Tensor> own);

}  // namespace ofl::distributed
