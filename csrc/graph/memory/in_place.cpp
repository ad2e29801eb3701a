#include "graph/memory/in_place.h"

#include <algorithm>

#include "base/error.h"

namespace ofl::graph {

namespace {

constexpr const char* kOp = "in_place";

class Decisions {
 public:
  Decisions(const Accesses& accesses, const Values& values, const Extents& extents,
            const LaneClocks& clocks)
      : accesses_(accesses),
        values_(values),
        extents_(extents),
        clocks_(clocks),
        classes_(values.classes),
        kinds_(values.count(), ValueKind::temporary),
        first_(values.count(), accesses.count()),
        last_(values.count() * clocks.lanes(), -1) {
    for (int64_t value = 0; value < values.count(); ++value) {
      ValueKind& kind = kinds_[classes_.of(value)];
      kind = std::max(kind, values.kinds[value]);
    }
    for (int64_t i = 0; i < accesses.count(); ++i) {
      for (const Accessed& accessed : accesses[i]) {
        if (accessed.how != Access::shape) use(classes_.of(accessed.value), i);
      }
    }
  }

  Reason decide(const InPlacePair& pair) {
    check(pair);
    const int64_t memory = classes_.of(pair.operand), fresh = classes_.of(pair.result);
    const Reason reason = judge(pair, memory, fresh);
    if (reason == Reason::allowed) join(memory, fresh);
    return reason;
  }

  Integers classes() const { return classes_.numbers(); }

 private:
  void use(int64_t memory, int64_t operation) {
    first_[memory] = std::min(first_[memory], operation);
    int64_t& last = last_[memory * clocks_.lanes() + clocks_.lane(operation)];
    last = std::max(last, operation);
  }

  void join(int64_t memory, int64_t fresh) {
    classes_.join(memory, fresh);
    kinds_[memory] = std::max(kinds_[memory], kinds_[fresh]);
    for (int64_t lane = 0; lane < clocks_.lanes(); ++lane) {
      int64_t& last = last_[memory * clocks_.lanes() + lane];
      last = std::max(last, last_[fresh * clocks_.lanes() + lane]);
    }
  }

  void check(const InPlacePair& pair) const {
    check_index(kOp, "pairs: operation", pair.operation, accesses_.count());
    check_index(kOp, "pairs: value", pair.operand, values_.count());
    check_index(kOp, "pairs: value", pair.result, values_.count());
    for (const Accessed& accessed : accesses_[pair.operation]) {
      if (accessed.value == pair.result && accessed.how == Access::write) return;
    }
    fail(ErrorKind::value, "[", kOp, "] pair (", pair.operation, ", ", pair.operand, ", ",
         pair.result, "): operation ", pair.operation, " does not write value ", pair.result);
  }

  Reason judge(const InPlacePair& pair, int64_t memory, int64_t fresh) const {
    const auto [operation, operand, result] = pair;
    const bool made_before = first_[fresh] < operation;
    if (memory == fresh || made_before || kinds_[fresh] == ValueKind::given) {
      return Reason::has_memory;
    }
    if (kinds_[memory] == ValueKind::given) return Reason::given;
    if (kinds_[memory] == ValueKind::result) return Reason::is_result;
    const Reason read = judge_reads(operation, memory, values_.places[operand]);
    if (read != Reason::allowed) return read;
    if (extents_.item_sizes[operand] != extents_.item_sizes[result]) {
      return Reason::other_item_size;
    }
    if (extents_.elements[operand] != extents_.elements[result]) return Reason::broadcast;
    if (values_.places[operand] != values_.places[result]) return Reason::at_another_place;
    return judge_uses(operation, memory);
  }

  Reason judge_reads(int64_t operation, int64_t memory, int64_t place) const {
    Reason reason = Reason::not_read;
    for (const Accessed& accessed : accesses_[operation]) {
      if (accessed.how == Access::shape || classes_.of(accessed.value) != memory) continue;
      if (accessed.how == Access::write) return Reason::taken;
      if (accessed.how == Access::read) return Reason::not_elementwise;
      if (values_.places[accessed.value] != place) return Reason::at_another_place;
      reason = Reason::allowed;
    }
    return reason;
  }

  Reason judge_uses(int64_t operation, int64_t memory) const {
    Reason reason = Reason::allowed;
    for (int64_t lane = 0; lane < clocks_.lanes(); ++lane) {
      const int64_t last = last_[memory * clocks_.lanes() + lane];
      if (last > operation) return Reason::used_later;
      if (last > clocks_.at(operation, lane)) reason = Reason::unordered;
    }
    return reason;
  }

  const Accesses& accesses_;
  const Values& values_;
  const Extents& extents_;
  const LaneClocks& clocks_;
  Classes classes_;
  // By the member that stands for a class:
  std::vector<ValueKind> kinds_;
  Integers first_;  // the first use
  Integers last_;   // the last use in each lane; -1: none
};

void check_extents(const Extents& extents, int64_t values) {
  check_length(kOp, "elements", static_cast<int64_t>(extents.elements.size()), values);
  check_length(kOp, "item_sizes", static_cast<int64_t>(extents.item_sizes.size()), values);
  for (const int64_t each : extents.elements) {
    if (each < 0) fail(ErrorKind::value, "[", kOp, "] negative number of elements ", each);
  }
  for (const int64_t each : extents.item_sizes) {
    if (each < 0) fail(ErrorKind::value, "[", kOp, "] negative item size ", each);
  }
}

}  // namespace

InPlace in_place(const Accesses& accesses, const std::vector<InPlacePair>& pairs,
                 const Values& values, const Extents& extents, const Integers& lanes,
                 const Edges& edges) {
  check_values(kOp, values);
  check_extents(extents, values.count());
  check_accesses(kOp, accesses, values.count());
  const LaneClocks clocks(kOp, lanes, edges);
  check_length(kOp, "lanes", clocks.operations(), accesses.count());
  Decisions decisions(accesses, values, extents, clocks);
  InPlace found;
  int64_t latest = 0;
  for (const InPlacePair& pair : pairs) {
    if (pair.operation < latest) {
      fail(ErrorKind::value, "[", kOp, "] pairs are in the order of the program: operation ",
           pair.operation, " comes after operation ", latest);
    }
    latest = pair.operation;
    found.reasons.push_back(decisions.decide(pair));
  }
  found.classes = decisions.classes();
  return found;
}

}  // namespace ofl::graph
