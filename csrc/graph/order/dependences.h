// Hazards: which operation has to wait for which, by what they read and write.
#pragma once

#include "graph/order/rows.h"

namespace ofl::graph {

/// How an operation uses a value or a variable.
enum class Access : uint8_t {
  read,         // any element, at any time
  write,        // of any element
  shape,        // of its shape only, not of its data
  elementwise,  // a read of element i for element i of the results only
};

inline constexpr const char* kAccessNames[] = {"read", "write", "shape", "elementwise"};
inline constexpr int64_t kAccessCount = sizeof(kAccessNames) / sizeof(kAccessNames[0]);

inline bool is_read(Access access) {
  return access == Access::read || access == Access::elementwise;
}

struct Accessed {
  int64_t value;
  Access how;
};
/// A row for each operation.
using Accesses = RowsOf<Accessed>;

/// The edges that order reads after writes, writes after reads and writes after writes; some follow
/// from others. Time: linear. `tokens` as in dependences().
Edges hazards(const Accesses& accesses, const Rows& tokens);

/// The edges that order reads after writes, writes after reads and writes after writes, without
/// those that follow from others; sorted. `tokens` has a row for each operation, or none at all: a
/// token orders its operations as a variable that all of them write. `sequential` orders all
/// operations as the program does.
Edges dependences(const Accesses& accesses, const Rows& tokens, bool sequential);

/// The edges that do not follow from others, sorted. Cost: as that of maximal().
Edges reduction(int64_t operations, const Edges& edges);

}  // namespace ofl::graph
