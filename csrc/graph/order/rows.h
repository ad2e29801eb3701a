// What the analyses are over: integers, rows of them (lists of different lengths, one behind the
// other), and edges between operations. Operations have the numbers of their places in the program.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace ofl::graph {

using Integers = std::vector<int64_t>;

template <typename T>
class RowsOf {
 public:
  class Row {
   public:
    Row(const T* begin, const T* end) : begin_(begin), end_(end) {}
    const T* begin() const { return begin_; }
    const T* end() const { return end_; }
    int64_t size() const { return end_ - begin_; }
    bool empty() const { return begin_ == end_; }
    const T& operator[](int64_t i) const { return begin_[i]; }
    const T& back() const { return end_[-1]; }

   private:
    const T *begin_, *end_;
  };

  int64_t count() const { return static_cast<int64_t>(ends_.size()); }
  int64_t items() const { return static_cast<int64_t>(items_.size()); }
  /// The place of a row's first item among all items.
  int64_t begin(int64_t row) const { return row ? ends_[row - 1] : 0; }
  Row operator[](int64_t row) const {
    return {items_.data() + begin(row), items_.data() + ends_[row]};
  }

  void add(const T& item) { items_.push_back(item); }
  /// What was added since the last call is a row.
  void end_row() { ends_.push_back(items()); }

 private:
  std::vector<T> items_;
  Integers ends_;
};

using Rows = RowsOf<int64_t>;

/// One operation comes before another.
struct Edge {
  int64_t before, after;
};
using Edges = std::vector<Edge>;

/// The seconds of the pairs with each first, sorted, each once. Firsts are below `count`.
Rows grouped(int64_t count, const std::vector<std::pair<int64_t, int64_t>>& pairs);

/// The operations before each one by an edge, sorted.
Rows predecessors(int64_t operations, const Edges& edges);
/// The operations after each one by an edge, sorted.
Rows successors(int64_t operations, const Edges& edges);

// --- Checks of what is given. `op` is the analysis; "[op] what ..." is the error.

/// Error(index) unless `value` is from 0 to `count` - 1.
void check_index(const char* op, const char* what, int64_t value, int64_t count);
/// Error(value) unless there are as many as wanted.
void check_length(const char* op, const char* what, int64_t length, int64_t wanted);
/// Error(index) for operations that are not there; Error(value) for an edge that does not follow
/// the order of the program, and for a negative number of operations.
void check_edges(const char* op, int64_t operations, const Edges& edges);

}  // namespace ofl::graph
