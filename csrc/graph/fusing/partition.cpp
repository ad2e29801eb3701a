#include "graph/fusing/partition.h"

#include <algorithm>

#include "base/error.h"

namespace ofl::graph {

namespace {

void check(const char* op, int64_t operations, const std::vector<Use>& uses,
           const Integers& results) {
  Edges edges;
  edges.reserve(uses.size());
  for (const Use& use : uses) edges.push_back({use.before, use.after});
  check_edges(op, operations, edges);
  for (const int64_t result : results) check_index(op, "result", result, operations);
}

/// The uses of each operation's value.
RowsOf<Use> uses_by_operation(int64_t operations, const std::vector<Use>& uses) {
  std::vector<Use> sorted = uses;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Use& a, const Use& b) { return a.before < b.before; });
  RowsOf<Use> rows;
  auto next = sorted.begin();
  for (int64_t i = 0; i < operations; ++i) {
    for (; next != sorted.end() && next->before == i; ++next) rows.add(*next);
    rows.end_row();
  }
  return rows;
}

std::vector<bool> flags_of(int64_t count, const Integers& places) {
  std::vector<bool> flags(count);
  for (const int64_t place : places) flags[place] = true;
  return flags;
}

/// Grows from the last operation to the first, so the parts above a node are there before it.
class Tree {
 public:
  Tree(const RowsOf<Use>& uses, const std::vector<bool>& is_result)
      : found_{Integers(uses.count(), kNone), std::vector<Pattern>(uses.count(), Pattern::opaque)},
        depths_(uses.count(), 1) {
    for (int64_t i = uses.count() - 1; i >= 0; --i) {
      if (is_result[i]) continue;
      found_.kinds[i] = Pattern::elementwise;
      found_.parents[i] = common_ancestor(uses[i], &found_.kinds[i]);
      if (found_.parents[i] != kNone) depths_[i] = depths_[found_.parents[i]] + 1;
    }
  }
  PostDominators take() { return std::move(found_); }

 private:
  static constexpr int64_t kNone = -1;

  /// Of all users; `kind` takes in the kinds of the uses and of what is climbed over.
  int64_t common_ancestor(RowsOf<Use>::Row uses, Pattern* kind) const {
    if (uses.empty()) return kNone;
    int64_t ancestor = uses[0].after;
    for (const Use& use : uses) {
      ancestor = common_ancestor(ancestor, use.after, kind);
      *kind = std::max(*kind, use.kind);
    }
    return ancestor;
  }

  int64_t common_ancestor(int64_t a, int64_t b, Pattern* kind) const {
    const auto climb = [&](int64_t* node) {
      *kind = std::max(*kind, found_.kinds[*node]);
      *node = found_.parents[*node];
    };
    while (a != b) {
      if (a == kNone || b == kNone) return kNone;
      const int64_t depth_a = depths_[a], depth_b = depths_[b];
      if (depth_a >= depth_b) climb(&a);
      if (depth_b >= depth_a) climb(&b);
    }
    return a;
  }

  PostDominators found_;
  Integers depths_;
};

class Partitioning {
 public:
  Partitioning(const std::vector<Pattern>& kinds, const RowsOf<Use>& uses, PostDominators tree,
               int64_t max_depth)
      : uses_(uses),
        tree_(std::move(tree)),
        max_depth_(max_depth),
        records_(kinds.size()),
        seen_(kinds.size(), -1) {
    for (size_t i = 0; i < kinds.size(); ++i) records_[i] = {static_cast<int64_t>(i), kinds[i], 1};
  }

  Integers groups() {
    for (int phase = 0; phase < 2; ++phase) {
      for (int64_t i = 0; i < count(); ++i) fuse(i, phase);
    }
    Integers groups;
    for (int64_t i = 0; i < count(); ++i) groups.push_back(root(i));
    return groups;
  }

 private:
  /// The union-find record of an operation; that of a root is true of the whole group.
  struct Record {
    int64_t parent;
    Pattern kind;
    int64_t size;  // operations that have joined it while it was a root
  };

  int64_t count() const { return static_cast<int64_t>(records_.size()); }

  int64_t root(int64_t i) {
    int64_t top = i;
    while (records_[top].parent != top) top = records_[top].parent;
    while (records_[i].parent != top) i = std::exchange(records_[i].parent, top);
    return top;
  }

  /// A source is judged by its own record, all else by the roots of their groups.
  void fuse(int64_t source, int phase) {
    const int64_t sink = tree_.parents[source];
    const Pattern kind = records_[source].kind, way = tree_.kinds[source];
    if (kind == Pattern::opaque || sink < 0 || is_too_deep(source, sink)) return;
    if (root(source) == root(sink)) return;
    if (kind == Pattern::out_fusable) {
      const auto fits = [](Pattern each, bool) { return each <= Pattern::broadcast; };
      if (phase == 0 && way == Pattern::elementwise) join(source, sink, fits);
    } else if (kind <= Pattern::broadcast) {
      const auto fits = [](Pattern each, bool is_sink) {
        return each <= (is_sink ? Pattern::out_fusable : Pattern::injective);
      };
      if (way <= Pattern::reduction) join(source, sink, fits);
    } else if (kind == Pattern::injective) {
      const auto fits = [](Pattern each, bool) { return each <= Pattern::injective; };
      if (phase == 1) join(source, sink, fits);
    }  // a reduction is never a source
  }

  /// All operations on paths from the source to the sink, which is left out.
  const Integers& between(int64_t source, int64_t sink) {
    found_.assign(1, source);
    ++stamp_;
    seen_[source] = seen_[sink] = stamp_;
    for (size_t i = 0; i < found_.size(); ++i) {
      for (const Use& use : uses_[found_[i]]) {
        if (std::exchange(seen_[use.after], stamp_) != stamp_) found_.push_back(use.after);
      }
    }
    return found_;
  }

  bool is_too_deep(int64_t source, int64_t sink) {
    int64_t size = records_[root(sink)].size;
    for (const int64_t each : between(source, sink)) size += records_[each].size;
    return size > max_depth_;
  }

  template <typename Fits>
  void join(int64_t source, int64_t sink, const Fits& fits) {
    const Integers& path = between(source, sink);
    if (!fits(records_[root(sink)].kind, true)) return;
    for (size_t i = 1; i < path.size(); ++i) {
      if (!fits(records_[root(path[i])].kind, false)) return;
    }
    for (const int64_t each : path) merge(root(each), root(sink));
  }

  /// An anchor, which is out-fusable, brings its kind along; `fits` lets no two meet.
  void merge(int64_t child, int64_t group) {
    if (child == group) return;
    records_[child].parent = group;
    records_[group].size += records_[child].size;
    if (records_[child].kind == Pattern::out_fusable) {
      records_[group].kind = std::max(records_[group].kind, Pattern::out_fusable);
    }
  }

  const RowsOf<Use>& uses_;
  const PostDominators tree_;
  const int64_t max_depth_;
  std::vector<Record> records_;
  Integers seen_, found_;
  int64_t stamp_ = 0;
};

}  // namespace

PostDominators post_dominators(int64_t operations, const std::vector<Use>& uses,
                               const Integers& results) {
  check("post_dominators", operations, uses, results);
  return Tree(uses_by_operation(operations, uses), flags_of(operations, results)).take();
}

Integers partition(const std::vector<Pattern>& kinds, const std::vector<Use>& uses,
                   const Integers& results, int64_t max_depth) {
  const auto operations = static_cast<int64_t>(kinds.size());
  check("partition", operations, uses, results);
  if (max_depth < 1) {
    fail(ErrorKind::value, "[partition] max_depth: expected at least 1, got ", max_depth);
  }
  const RowsOf<Use> rows = uses_by_operation(operations, uses);
  return Partitioning(kinds, rows, Tree(rows, flags_of(operations, results)).take(), max_depth)
      .groups();
}

}  // namespace ofl::graph
