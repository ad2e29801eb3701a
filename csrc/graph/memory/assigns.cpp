#include "graph/memory/assigns.h"

#include <algorithm>

#include "base/error.h"
#include "graph/memory/uses.h"

namespace ofl::graph {

namespace {

/// What both analyses know.
struct Program {
  Program(const char* op, const Accesses& accesses, const Values& values, const Integers& lanes,
          const Edges& edges)
      : op(op),
        accesses(accesses),
        values(checked(op, accesses, values)),
        clocks(op, lanes, edges),
        kinds(values.count(), ValueKind::temporary),
        uses(accesses, values.classes, clocks) {
    check_length(op, "lanes", clocks.operations(), accesses.count());
    for (int64_t value = 0; value < values.count(); ++value) {
      ValueKind& kind = kinds[values.classes[value]];
      kind = std::max(kind, values.kinds[value]);
    }
  }

  static const Values& checked(const char* op, const Accesses& accesses, const Values& values) {
    check_values(op, values);
    check_accesses(op, accesses, values.count());
    return values;
  }

  void check_use(int64_t operation, int64_t value, bool writes) const {
    check_index(op, "operation", operation, accesses.count());
    check_index(op, "value", value, values.count());
    for (const Accessed& accessed : accesses[operation]) {
      const bool as_wanted = writes ? accessed.how == Access::write : is_read(accessed.how);
      if (accessed.value == value && as_wanted) return;
    }
    fail(ErrorKind::value, "[", op, "] operation ", operation, " does not ",
         writes ? "write" : "read", " value ", value);
  }

  /// The first operation that uses the value's memory, which makes it.
  int64_t maker(int64_t value, int64_t before) const {
    const int64_t first = uses.first(values.classes[value]);
    if (first < before) return first;
    fail(ErrorKind::value, "[", op, "] nobody makes value ", value, " before operation ", before);
  }

  int64_t memory(int64_t value) const { return values.classes[value]; }
  int64_t place(int64_t value) const { return values.places[value]; }

  const char* op;
  const Accesses& accesses;
  const Values& values;
  LaneClocks clocks;
  std::vector<ValueKind> kinds;  // of classes
  Uses uses;
};

Reason judge_kind(ValueKind kind) {
  if (kind == ValueKind::given) return Reason::given;
  return kind == ValueKind::result ? Reason::is_result : Reason::allowed;
}

/// Where `last`, the last use of some memory in a lane, has to be over when `operation` starts.
Reason judge_order(const LaneClocks& clocks, int64_t lane, int64_t last, int64_t operation) {
  if (last >= operation) return Reason::read_since;
  return last > clocks.at(operation, lane) ? Reason::unordered : Reason::allowed;
}

class Assignments {
 public:
  explicit Assignments(const Program& program)
      : program_(program), computed_(program.values.count()) {}

  Reason decide(const Assignment& given) {
    const Reason reason = judge(given);
    if (reason == Reason::allowed) computed_[program_.memory(given.source)] = true;
    return reason;
  }

 private:
  Reason judge(const Assignment& given) const {
    const int64_t source = program_.memory(given.source);
    if (source == program_.memory(given.variable)) {
      const bool same = program_.place(given.source) == program_.place(given.variable);
      return same ? Reason::has_memory : Reason::at_another_place;
    }
    const Reason kind = computed_[source] ? Reason::given : judge_kind(program_.kinds[source]);
    if (kind != Reason::allowed) return kind;
    if (program_.place(given.source) != program_.place(given.variable)) {
      return Reason::at_another_place;
    }
    const Reason uses = judge_source(given.operation, source);
    if (uses != Reason::allowed) return uses;
    return judge_variable(given, program_.maker(given.source, given.operation));
  }

  Reason judge_source(int64_t operation, int64_t source) const {
    const Uses& uses = program_.uses;
    for (int64_t lane = 0; lane < program_.clocks.lanes(); ++lane) {
      const int64_t last = uses.last(source, lane);
      if (last > operation) return Reason::used_later;
      if (last > program_.clocks.at(operation, lane)) return Reason::unordered;
    }
    return Reason::allowed;
  }

  Reason judge_variable(const Assignment& given, int64_t maker) const {
    const int64_t memory = program_.memory(given.variable);
    for (int64_t lane = 0; lane < program_.clocks.lanes(); ++lane) {
      int64_t last = program_.uses.last_before(memory, lane, given.operation);
      if (last == maker) {
        const Reason reads = judge_reads(maker, given.variable);
        if (reads != Reason::allowed) return reads;
        last = program_.uses.last_before(memory, lane, maker);
      }
      const Reason order = judge_order(program_.clocks, lane, last, maker);
      if (order != Reason::allowed) return order;
    }
    return Reason::allowed;
  }

  /// How the operation that makes the source uses the variable's old value.
  Reason judge_reads(int64_t maker, int64_t variable) const {
    for (const Accessed& accessed : program_.accesses[maker]) {
      if (accessed.how == Access::shape) continue;
      if (program_.memory(accessed.value) != program_.memory(variable)) continue;
      if (accessed.how == Access::write) return Reason::read_since;
      if (accessed.how == Access::read) return Reason::not_elementwise;
      if (program_.place(accessed.value) != program_.place(variable)) {
        return Reason::at_another_place;
      }
    }
    return Reason::allowed;
  }

  const Program& program_;
  std::vector<bool> computed_;  // the classes that are in a variable's memory
};

class Additions {
 public:
  explicit Additions(const Program& program)
      : program_(program), product_of_(program.values.count(), -1) {}

  Reason decide(const Addition& given) {
    const Reason reason = judge(given);
    if (reason != Reason::allowed) return reason;
    const int64_t product = program_.uses.first(program_.memory(given.part));
    product_of_[program_.memory(given.result)] = product;
    return reason;
  }

 private:
  Reason judge(const Addition& given) const {
    const int64_t memory = program_.memory(given.accumulator);
    const int64_t part = program_.memory(given.part), fresh = program_.memory(given.result);
    if (memory == part) return Reason::several_uses;
    if (fresh == memory || fresh == part || program_.uses.first(fresh) < given.operation ||
        program_.kinds[fresh] == ValueKind::given || product_of_[part] >= 0) {
      return Reason::has_memory;
    }
    for (const int64_t each : {memory, part}) {
      const Reason kind = judge_kind(program_.kinds[each]);
      if (kind != Reason::allowed) return kind;
    }
    const int64_t place = program_.place(given.result);
    if (program_.place(given.accumulator) != place || program_.place(given.part) != place) {
      return Reason::at_another_place;
    }
    const int64_t product = program_.maker(given.part, given.operation);
    if (program_.uses.count(part) != 2) return Reason::several_uses;
    return judge_accumulator(given, product);
  }

  /// An addition that went is no use of its result: the product in its place made it.
  Reason judge_accumulator(const Addition& given, int64_t product) const {
    const LaneClocks& clocks = program_.clocks;
    const int64_t memory = program_.memory(given.accumulator);
    const int64_t gone = product_of_[memory] < 0 ? -1 : program_.uses.first(memory);
    const int64_t maker =
        gone < 0 ? program_.maker(given.accumulator, given.operation) : product_of_[memory];
    if (maker >= product) return Reason::made_later;
    if (!clocks.before(maker, product)) return Reason::unordered;
    for (int64_t lane = 0; lane < clocks.lanes(); ++lane) {
      if (program_.uses.last(memory, lane) > given.operation) return Reason::used_later;
      const int64_t last = program_.uses.last_before(memory, lane, given.operation);
      if (last == gone) continue;  // -1, too; the addition is the first use of its result
      const Reason order = judge_order(clocks, lane, last, product);
      if (order != Reason::allowed) return order;
    }
    return Reason::allowed;
  }

  const Program& program_;
  Integers product_of_;  // what adds to a class of values in the place of an addition; -1: nothing
};

/// Operations in the order of the program.
class InOrder {
 public:
  explicit InOrder(const char* op) : op_(op) {}
  void check(int64_t operation) {
    if (operation < latest_) {
      fail(ErrorKind::value, "[", op_, "] operation ", operation, " comes after operation ",
           latest_, ", not in the order of the program");
    }
    latest_ = operation;
  }

 private:
  const char* op_;
  int64_t latest_ = 0;
};

}  // namespace

Assigned assign(const Accesses& accesses, const std::vector<Assignment>& assignments,
                const Values& values, const Integers& lanes, const Edges& edges) {
  const Program program("assign", accesses, values, lanes, edges);
  Assignments judged(program);
  Classes classes(values.classes);
  Assigned found;
  InOrder order("assign");
  for (const Assignment& each : assignments) {
    program.check_use(each.operation, each.source, false);
    program.check_use(each.operation, each.variable, true);
    order.check(each.operation);
    if (program.kinds[program.memory(each.variable)] != ValueKind::given) {
      fail(ErrorKind::value, "[assign] value ", each.variable, " is no variable: its kind is not ",
           "given");
    }
    const Reason reason = judged.decide(each);
    if (reason == Reason::allowed) classes.join(each.variable, each.source);
    found.reasons.push_back(reason);
    found.cases.push_back(reason == Reason::allowed      ? AssignCase::computed
                          : reason == Reason::has_memory ? AssignCase::none
                                                         : AssignCase::copy);
  }
  found.classes = classes.numbers();
  return found;
}

AddTo addto(const Accesses& accesses, const std::vector<Addition>& additions, const Values& values,
            const Integers& lanes, const Edges& edges) {
  const Program program("addto", accesses, values, lanes, edges);
  Additions judged(program);
  Classes classes(values.classes);
  AddTo found;
  InOrder order("addto");
  for (const Addition& each : additions) {
    program.check_use(each.operation, each.accumulator, false);
    program.check_use(each.operation, each.part, false);
    program.check_use(each.operation, each.result, true);
    order.check(each.operation);
    found.reasons.push_back(judged.decide(each));
    if (found.reasons.back() != Reason::allowed) continue;
    classes.join(each.accumulator, each.part);
    classes.join(each.accumulator, each.result);
  }
  found.classes = classes.numbers();
  return found;
}

}  // namespace ofl::graph
