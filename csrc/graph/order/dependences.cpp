#include "graph/order/dependences.h"

#include <algorithm>

#include "base/error.h"
#include "graph/order/closure.h"

namespace ofl::graph {

namespace {

constexpr const char* kOp = "dependences";

/// Any integers from 0 on, numbered anew from 0.
class Numbering {
 public:
  void add(int64_t name) {
    if (name < 0) fail(ErrorKind::index, "[", kOp, "] negative number ", name);
    names_.push_back(name);
  }
  void finish() {
    std::sort(names_.begin(), names_.end());
    names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
  }
  int64_t operator()(int64_t name) const {
    return std::lower_bound(names_.begin(), names_.end(), name) - names_.begin();
  }
  int64_t count() const { return static_cast<int64_t>(names_.size()); }

 private:
  Integers names_;
};

/// Who wrote an object last, and who has read it since.
struct History {
  int64_t write = -1;
  Integers reads;
};

class Hazards {
 public:
  explicit Hazards(int64_t objects) : objects_(objects) {}

  void read(int64_t object, int64_t operation) {
    History& history = objects_[object];
    if (history.write == operation) return;
    if (!history.reads.empty() && history.reads.back() == operation) return;
    if (history.write >= 0) edges.push_back({history.write, operation});
    history.reads.push_back(operation);
  }

  /// Before the operation's reads. The reads come after the write before them.
  void write(int64_t object, int64_t operation) {
    History& history = objects_[object];
    if (history.write == operation) return;
    for (const int64_t read : history.reads) edges.push_back({read, operation});
    if (history.reads.empty() && history.write >= 0) edges.push_back({history.write, operation});
    history.write = operation;
    history.reads.clear();
  }

  Edges edges;

 private:
  std::vector<History> objects_;
};

/// Sorted by the operation that comes first.
Edges edges_to(const Rows& predecessors) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (int64_t i = 0; i < predecessors.count(); ++i) {
    for (const int64_t before : predecessors[i]) pairs.emplace_back(before, i);
  }
  std::sort(pairs.begin(), pairs.end());
  Edges edges;
  edges.reserve(pairs.size());
  for (const auto& [before, after] : pairs) edges.push_back({before, after});
  return edges;
}

Edges reduced(int64_t operations, const Edges& edges) {
  const Rows rows = predecessors(operations, edges);
  return edges_to(maximal(rows, rows));
}

}  // namespace

Edges hazards(const Accesses& accesses, const Rows& tokens) {
  Numbering variables, names;
  for (int64_t i = 0; i < accesses.count(); ++i) {
    for (const Accessed& accessed : accesses[i]) variables.add(accessed.value);
  }
  for (int64_t i = 0; i < tokens.count(); ++i) {
    for (const int64_t token : tokens[i]) names.add(token);
  }
  variables.finish();
  names.finish();
  Hazards found(variables.count() + names.count());
  for (int64_t i = 0; i < accesses.count(); ++i) {
    for (const Accessed& accessed : accesses[i]) {
      if (accessed.how == Access::write) found.write(variables(accessed.value), i);
    }
    for (const Accessed& accessed : accesses[i]) {
      if (is_read(accessed.how)) found.read(variables(accessed.value), i);
    }
    if (tokens.count() == 0) continue;
    for (const int64_t token : tokens[i]) found.write(variables.count() + names(token), i);
  }
  return std::move(found.edges);
}

Edges dependences(const Accesses& accesses, const Rows& tokens, bool sequential) {
  if (tokens.count()) check_length(kOp, "tokens", tokens.count(), accesses.count());
  Edges edges = hazards(accesses, tokens);
  if (!sequential) return reduced(accesses.count(), edges);
  edges.clear();
  for (int64_t i = 1; i < accesses.count(); ++i) edges.push_back({i - 1, i});
  return edges;
}

Edges reduction(int64_t operations, const Edges& edges) {
  check_edges("reduction", operations, edges);
  return reduced(operations, edges);
}

}  // namespace ofl::graph
