#include "graph/order/rows.h"

#include <algorithm>

#include "base/error.h"

namespace ofl::graph {

namespace {

/// The rows of items with a counting sort by key; each row sorted, without doubles.
template <typename Pairs, typename Key, typename Item>
Rows sorted_rows(int64_t count, const Pairs& pairs, const Key& key, const Item& item) {
  Integers begins(count + 1);
  for (const auto& pair : pairs) ++begins[key(pair) + 1];
  for (int64_t row = 0; row < count; ++row) begins[row + 1] += begins[row];
  Integers items(pairs.size()), next(begins);
  for (const auto& pair : pairs) items[next[key(pair)]++] = item(pair);
  Rows rows;
  for (int64_t row = 0; row < count; ++row) {
    const auto begin = items.begin() + begins[row], end = items.begin() + begins[row + 1];
    std::sort(begin, end);
    std::for_each(begin, std::unique(begin, end), [&](int64_t each) { rows.add(each); });
    rows.end_row();
  }
  return rows;
}

}  // namespace

Rows grouped(int64_t count, const std::vector<std::pair<int64_t, int64_t>>& pairs) {
  return sorted_rows(
      count, pairs, [](const auto& pair) { return pair.first; },
      [](const auto& pair) { return pair.second; });
}

Rows predecessors(int64_t operations, const Edges& edges) {
  return sorted_rows(
      operations, edges, [](const Edge& edge) { return edge.after; },
      [](const Edge& edge) { return edge.before; });
}

Rows successors(int64_t operations, const Edges& edges) {
  return sorted_rows(
      operations, edges, [](const Edge& edge) { return edge.before; },
      [](const Edge& edge) { return edge.after; });
}

void check_index(const char* op, const char* what, int64_t value, int64_t count) {
  if (value >= 0 && value < count) return;
  if (count == 0) fail(ErrorKind::index, "[", op, "] ", what, " ", value, ": there are none");
  fail(ErrorKind::index, "[", op, "] ", what, " ", value, ": expected 0 to ", count - 1);
}

void check_length(const char* op, const char* what, int64_t length, int64_t wanted) {
  if (length == wanted) return;
  fail(ErrorKind::value, "[", op, "] ", what, ": expected ", wanted, " items, got ", length);
}

void check_edges(const char* op, int64_t operations, const Edges& edges) {
  if (operations < 0) {
    fail(ErrorKind::value, "[", op, "] negative number of operations ", operations);
  }
  for (const Edge& edge : edges) {
    check_index(op, "edges: operation", edge.before, operations);
    check_index(op, "edges: operation", edge.after, operations);
    if (edge.before < edge.after) continue;
    fail(ErrorKind::value, "[", op, "] edge (", edge.before, ", ", edge.after,
         ") makes a cycle: edges follow the order of the program");
  }
}

}  // namespace ofl::graph
