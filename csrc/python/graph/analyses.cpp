// The analyses of graphs, as module functions; oneflow_lite/graph/analyses says what they do.
#include "python/arguments.h"
#include "python/bind.h"
#include "python/graph/arrays.h"

#include "graph/fusing/partition.h"
#include "graph/memory/assigns.h"
#include "graph/memory/blocks.h"
#include "graph/memory/in_place.h"
#include "graph/memory/memory_order.h"
#include "graph/memory/offsets.h"
#include "graph/order/colours.h"
#include "graph/order/order.h"
#include "graph/order/spread.h"

namespace ofl::python {

namespace {

using graph::Integers;

/// The number of a row of a table of enum values.
template <typename Enum>
Enum enum_of(const Place& place, int64_t number, int64_t count) {
  if (number < 0 || number >= count) {
    fail(ErrorKind::value, place.text(), ": expected 0 to ", count - 1, ", got ", number);
  }
  return static_cast<Enum>(number);
}

graph::Accesses accesses_of(const char* op, PyObject* object) {
  return record_rows<graph::Accessed, 2>(
      {op, "accesses"}, object, "(value, access)", [](const Record<2>& record, const Place& here) {
        return graph::Accessed{record.fields[0],
                               enum_of<graph::Access>(here, record.fields[1], graph::kAccessCount)};
      });
}

std::vector<std::pair<int64_t, int64_t>> pairs_of(const char* op, PyObject* object,
                                                  const char* fields) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for_records<2>({op, "pairs"}, object, fields, [&](const Record<2>& record, const Place&) {
    pairs.emplace_back(record.fields[0], record.fields[1]);
  });
  return pairs;
}

graph::Values values_of(const char* op, Arguments classes_kinds_places) {
  graph::Values values;
  values.classes = integers_of({op, "classes"}, classes_kinds_places[0]);
  const Place kinds{op, "kinds"};
  for (const int64_t kind : integers_of(kinds, classes_kinds_places[1])) {
    values.kinds.push_back(enum_of<graph::ValueKind>(kinds, kind, graph::kValueKindCount));
  }
  values.places = integers_of({op, "places"}, classes_kinds_places[2]);
  return values;
}

/// None: all operations in one lane.
Integers lanes_of(const char* op, PyObject* object, int64_t operations) {
  return object == Py_None ? Integers(operations) : integers_of({op, "lanes"}, object);
}

// --- Order

PyObject* dependences(Arguments given) {
  constexpr const char* kOp = "dependences";
  const graph::Accesses accesses = accesses_of(kOp, given[0]);
  const graph::Rows tokens = rows_of({kOp, "tokens"}, given[1]);
  return list_of(graph::dependences(accesses, tokens, truth(given[2]))).release();
}

PyObject* reduction(Arguments given) {
  const int64_t operations = integer_of({"reduction", "operations"}, given[0]);
  return list_of(graph::reduction(operations, edges_of("reduction", given[1]))).release();
}

PyObject* successors(Arguments given) {
  const int64_t operations = integer_of({"successors", "operations"}, given[0]);
  const graph::Edges edges = edges_of("successors", given[1]);
  graph::check_edges("successors", operations, edges);
  return list_of(graph::successors(operations, edges)).release();
}

PyObject* successors_by_thread(Arguments given) {
  constexpr const char* kOp = "successors_by_thread";
  const Integers hosts = integers_of({kOp, "hosts"}, given[0]);
  const auto found = graph::successors_by_thread(hosts, edges_of(kOp, given[1]));
  return tuple_of(list_of(found.kept), list_of(found.given));
}

PyObject* last_users(Arguments given) {
  constexpr const char* kOp = "last_users";
  const int64_t operations = integer_of({kOp, "operations"}, given[0]);
  const graph::Rows users = rows_of({kOp, "users"}, given[2]);
  return list_of(graph::last_users(operations, edges_of(kOp, given[1]), users)).release();
}

PyObject* order_by_priority(Arguments given) {
  constexpr const char* kOp = "order_by_priority";
  const Integers priorities = integers_of({kOp, "priorities"}, given[0]);
  return list_of(graph::order_by_priority(priorities, edges_of(kOp, given[1]))).release();
}

// --- Lanes

PyObject* waits(Arguments given) {
  const Integers lanes = integers_of({"waits", "lanes"}, given[0]);
  return list_of(graph::waits(lanes, edges_of("waits", given[1]))).release();
}

PyObject* starts(Arguments given) {
  const Integers lanes = integers_of({"starts", "lanes"}, given[0]);
  const Integers devices = integers_of({"starts", "devices"}, given[2]);
  return list_of(graph::starts(lanes, edges_of("starts", given[1]), devices)).release();
}

/// (costs, devices, edges, most, wait)
PyObject* spread(Arguments given) {
  constexpr const char* kOp = "spread";
  const Integers costs = integers_of({kOp, "costs"}, given[0]);
  const Integers devices = integers_of({kOp, "devices"}, given[1]);
  const graph::Edges edges = edges_of(kOp, given[2]);
  const int64_t most = integer_of({kOp, "most"}, given[3]);
  const int64_t wait = integer_of({kOp, "wait"}, given[4]);
  return list_of(graph::spread(costs, devices, edges, most, wait)).release();
}

PyObject* reuse_across_lanes(Arguments given) {
  constexpr const char* kOp = "reuse_across_lanes";
  const Integers lanes = integers_of({kOp, "lanes"}, given[0]);
  const graph::Edges edges = edges_of(kOp, given[1]);
  const graph::Rows users = rows_of({kOp, "users"}, given[2]);
  const auto pairs = pairs_of(kOp, given[3], "(value, operation)");
  return list_of(graph::reuse_across_lanes(lanes, edges, users, pairs),
                 [](bool answer) { return PyBool_FromLong(answer); })
      .release();
}

PyObject* colours(Arguments given) {
  const Integers weights = integers_of({"colours", "weights"}, given[0]);
  const int64_t most = integer_of({"colours", "most"}, given[2]);
  return list_of(graph::colours(weights, edges_of("colours", given[1]), most)).release();
}

// --- Groups that are computed together

graph::Pattern pattern_of(const Place& place, int64_t number) {
  const auto pattern = static_cast<graph::Pattern>(number);
  const bool is_known = number >= 0 && (number <= 4 || pattern == graph::Pattern::opaque);
  if (!is_known) {
    fail(ErrorKind::value, place.text(), ": expected a kind from 0 to 4, or 8, got ", number);
  }
  return pattern;
}

std::vector<graph::Use> uses_of(const char* op, PyObject* object) {
  std::vector<graph::Use> uses;
  for_records<3>({op, "uses"}, object, "(before, after, kind)",
                 [&](const Record<3>& record, const Place& here) {
                   const auto& [before, after, kind] = record.fields;
                   uses.push_back({before, after, pattern_of(here, kind)});
                 });
  return uses;
}

PyObject* post_dominators(Arguments given) {
  constexpr const char* kOp = "post_dominators";
  const int64_t operations = integer_of({kOp, "operations"}, given[0]);
  const auto uses = uses_of(kOp, given[1]);
  const auto tree =
      graph::post_dominators(operations, uses, integers_of({kOp, "results"}, given[2]));
  return tuple_of(list_of(tree.parents), list_of(tree.kinds, [](graph::Pattern kind) {
                    return PyLong_FromLong(static_cast<long>(kind));
                  }));
}

PyObject* partition(Arguments given) {
  constexpr const char* kOp = "partition";
  std::vector<graph::Pattern> kinds;
  for (const int64_t number : integers_of({kOp, "kinds"}, given[0])) {
    kinds.push_back(pattern_of({kOp, "kinds"}, number));
  }
  const auto uses = uses_of(kOp, given[1]);
  const Integers results = integers_of({kOp, "results"}, given[2]);
  const int64_t most = integer_of({kOp, "max_depth"}, given[3]);
  return list_of(graph::partition(kinds, uses, results, most)).release();
}

// --- Values that share memory

PyObject* alias_classes(Arguments given) {
  const int64_t values = integer_of({"alias_classes", "values"}, given[0]);
  const auto pairs = pairs_of("alias_classes", given[1], "(value, other)");
  return list_of(graph::alias_classes(values, pairs)).release();
}

PyObject* class_users(Arguments given) {
  const graph::Accesses accesses = accesses_of("class_users", given[0]);
  const Integers classes = integers_of({"class_users", "classes"}, given[1]);
  return list_of(graph::class_users(accesses, classes)).release();
}

/// (accesses, pairs, classes, kinds, places, elements, item_sizes, lanes, edges)
PyObject* in_place(Arguments given) {
  constexpr const char* kOp = "in_place";
  const graph::Accesses accesses = accesses_of(kOp, given[0]);
  std::vector<graph::InPlacePair> pairs;
  for_records<3>({kOp, "pairs"}, given[1], "(operation, operand, result)",
                 [&](const Record<3>& record, const Place&) {
                   pairs.push_back({record.fields[0], record.fields[1], record.fields[2]});
                 });
  const graph::Extents extents{integers_of({kOp, "elements"}, given[5]),
                               integers_of({kOp, "item_sizes"}, given[6])};
  const auto found =
      graph::in_place(accesses, pairs, values_of(kOp, given + 2), extents,
                      lanes_of(kOp, given[7], accesses.count()), edges_of(kOp, given[8]));
  return tuple_of(list_of(found.reasons), list_of(found.classes));
}

/// (accesses, assignments, classes, kinds, places, lanes, edges)
PyObject* assign(Arguments given) {
  constexpr const char* kOp = "assign";
  const graph::Accesses accesses = accesses_of(kOp, given[0]);
  std::vector<graph::Assignment> assignments;
  for_records<3>({kOp, "assignments"}, given[1], "(operation, variable, source)",
                 [&](const Record<3>& record, const Place&) {
                   assignments.push_back({record.fields[0], record.fields[1], record.fields[2]});
                 });
  const auto found =
      graph::assign(accesses, assignments, values_of(kOp, given + 2),
                    lanes_of(kOp, given[5], accesses.count()), edges_of(kOp, given[6]));
  return tuple_of(list_of(found.cases), list_of(found.reasons), list_of(found.classes));
}

/// (accesses, additions, classes, kinds, places, lanes, edges)
PyObject* addto(Arguments given) {
  constexpr const char* kOp = "addto";
  const graph::Accesses accesses = accesses_of(kOp, given[0]);
  std::vector<graph::Addition> additions;
  for_records<4>({kOp, "additions"}, given[1], "(operation, accumulator, part, result)",
                 [&](const Record<4>& record, const Place&) {
                   const int64_t* const fields = record.fields;
                   additions.push_back({fields[0], fields[1], fields[2], fields[3]});
                 });
  const auto found =
      graph::addto(accesses, additions, values_of(kOp, given + 2),
                   lanes_of(kOp, given[5], accesses.count()), edges_of(kOp, given[6]));
  return tuple_of(list_of(found.reasons), list_of(found.classes));
}

// --- Memory plans

/// (inputs, outputs, elements, item_sizes, results, ignored, pairs, devices, colours, match_range,
/// search)
PyObject* plan_blocks(Arguments given) {
  constexpr const char* kOp = "plan_blocks";
  graph::BlockProgram program;
  program.inputs = rows_of({kOp, "inputs"}, given[0]);
  program.outputs = rows_of({kOp, "outputs"}, given[1]);
  program.elements = integers_of({kOp, "elements"}, given[2]);
  program.item_sizes = integers_of({kOp, "item_sizes"}, given[3]);
  program.results = integers_of({kOp, "results"}, given[4]);
  program.ignored = rows_of({kOp, "ignored"}, given[5]);
  program.pairs = record_rows<graph::BlockPair, 3>(
      {kOp, "pairs"}, given[6], "(input, output, identity)",
      [](const Record<3>& record, const Place&) {
        return graph::BlockPair{record.fields[0], record.fields[1], record.fields[2] != 0};
      });
  program.devices = integers_of({kOp, "devices"}, given[7]);
  program.colours = integers_of({kOp, "colours"}, given[8]);
  const int64_t match_range = integer_of({kOp, "match_range"}, given[9]);
  const auto plan = graph::plan_blocks(program, match_range, truth(given[10]));
  return tuple_of(list_of(plan.blocks), list_of(plan.in_place), list_of(plan.sizes),
                  Reference(checked(PyLong_FromLongLong(plan.bytes))),
                  Reference(checked(PyLong_FromLongLong(plan.match_range))));
}

/// (sizes, users, results, alignment, lanes, edges)
PyObject* plan_offsets(Arguments given) {
  constexpr const char* kOp = "plan_offsets";
  graph::MemoryNeeds needs;
  needs.sizes = integers_of({kOp, "sizes"}, given[0]);
  needs.users = rows_of({kOp, "users"}, given[1]);
  needs.results = integers_of({kOp, "results"}, given[2]);
  needs.alignment = integer_of({kOp, "alignment"}, given[3]);
  needs.lanes = integers_of({kOp, "lanes"}, given[4]);
  needs.edges = edges_of(kOp, given[5]);
  const graph::MemoryPlan plan = graph::plan_offsets(needs);
  const auto candidate = [](const graph::Candidate& each) {
    return Py_BuildValue("(sL)", each.name.c_str(), static_cast<long long>(each.bytes));
  };
  return tuple_of(list_of(plan.packing.spaces), list_of(plan.packing.offsets),
                  Reference(checked(PyLong_FromLongLong(plan.packing.bytes))),
                  Reference(checked(PyLong_FromLongLong(plan.bound))),
                  Reference(checked(PyUnicode_FromString(plan.name.c_str()))),
                  list_of(plan.tried, candidate));
}

PyObject* order_by_memory(Arguments given) {
  constexpr const char* kOp = "order_by_memory";
  const int64_t operations = integer_of({kOp, "operations"}, given[0]);
  const Integers sizes = integers_of({kOp, "sizes"}, given[1]);
  const graph::Rows users = rows_of({kOp, "users"}, given[2]);
  const Integers results = integers_of({kOp, "results"}, given[3]);
  return list_of(graph::order_by_memory(operations, sizes, users, results, edges_of(kOp, given[4])))
      .release();
}

PyObject* lower_bound(Arguments given) {
  constexpr const char* kOp = "lower_bound";
  const Integers sizes = integers_of({kOp, "sizes"}, given[0]);
  const graph::Rows users = rows_of({kOp, "users"}, given[1]);
  const int64_t alignment = integer_of({kOp, "alignment"}, given[2]);
  return PyLong_FromLongLong(graph::lower_bound(sizes, users, alignment));
}

PyMethodDef functions[] = {
    positional<dependences, 3>("graph_dependences"),
    positional<reduction, 2>("graph_reduction"),
    positional<successors, 2>("graph_successors"),
    positional<successors_by_thread, 2>("graph_successors_by_thread"),
    positional<last_users, 3>("graph_last_users"),
    positional<order_by_priority, 2>("graph_order_by_priority"),
    positional<waits, 2>("graph_waits"),
    positional<starts, 3>("graph_starts"),
    positional<reuse_across_lanes, 4>("graph_reuse_across_lanes"),
    positional<spread, 5>("graph_spread"),
    positional<colours, 3>("graph_colours"),
    positional<post_dominators, 3>("graph_post_dominators"),
    positional<partition, 4>("graph_partition"),
    positional<alias_classes, 2>("graph_alias_classes"),
    positional<class_users, 2>("graph_class_users"),
    positional<in_place, 9>("graph_in_place"),
    positional<assign, 7>("graph_assign"),
    positional<addto, 7>("graph_addto"),
    positional<plan_blocks, 11>("graph_plan_blocks"),
    positional<plan_offsets, 6>("graph_plan_offsets"),
    positional<lower_bound, 3>("graph_lower_bound"),
    positional<order_by_memory, 5>("graph_order_by_memory"),
    {nullptr, nullptr, 0, nullptr},
};

void add(PyObject* module, const char* name, const Reference& value) {
  if (PyModule_AddObjectRef(module, name, value.get()) < 0) throw PythonErrorSet{};
}

template <int64_t count>
Reference names(const char* const (&table)[count]) {
  return list_of(std::vector<const char*>(table, table + count), PyUnicode_FromString);
}

}  // namespace

void init_graph_analyses(PyObject* module) {
  if (PyModule_AddFunctions(module, functions) < 0) throw PythonErrorSet{};
  add(module, "GRAPH_ACCESSES", names(graph::kAccessNames));
  add(module, "GRAPH_VALUE_KINDS", names(graph::kValueKindNames));
  add(module, "GRAPH_STARTS", names(graph::kStartNames));
  add(module, "GRAPH_ASSIGN_CASES", names(graph::kAssignCaseNames));
  const std::vector<graph::ReasonRow> reasons(std::begin(graph::kReasons),
                                              std::end(graph::kReasons));
  add(module, "GRAPH_REASONS", list_of(reasons, [](const graph::ReasonRow& row) {
        return Py_BuildValue("(ss)", row.name, row.text);
      }));
}

}  // namespace ofl::python
