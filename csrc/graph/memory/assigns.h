// What becomes of assignments to variables, and of additions to accumulators.
#pragma once

#include "graph/memory/reason.h"
#include "graph/memory/values.h"
#include "graph/order/lanes.h"

namespace ofl::graph {

/// What an assignment does when it runs.
enum class AssignCase : uint8_t {
  none,      // nothing: the variable holds the source already
  copy,      // copies the source
  computed,  // nothing: the source is computed in the variable's memory
};

inline constexpr const char* kAssignCaseNames[] = {"none", "copy", "computed"};

/// An operation that reads `source` and writes `variable`.
struct Assignment {
  int64_t operation, variable, source;
};

struct Assigned {
  std::vector<AssignCase> cases;  // of each assignment
  std::vector<Reason> reasons;    // why it is, or is not, a copy
  Integers classes;               // of the values, with sources in the classes of their variables
};

/// A source is computed in the variable's memory if it is a temporary that lies as the variable
/// does, nobody uses it after the assignment, and nobody uses the variable's old value after the
/// source began. The operation that begins it may read the old value elementwise, at its place.
Assigned assign(const Accesses& accesses, const std::vector<Assignment>& assignments,
                const Values& values, const Integers& lanes, const Edges& edges);

/// result = accumulator + part, where a product that can add makes `part`.
struct Addition {
  int64_t operation, accumulator, part, result;
};

struct AddTo {
  std::vector<Reason> reasons;  // allowed: the product adds into the accumulator, the addition goes
  Integers classes;             // of the values, with parts and results in those of accumulators
};

/// A product adds into the accumulator if the part has no other use, the accumulator is a temporary
/// made before the product, and nobody, nor the product itself, uses it once the product began.
/// Additions are in the order of the program.
AddTo addto(const Accesses& accesses, const std::vector<Addition>& additions, const Values& values,
            const Integers& lanes, const Edges& edges);

}  // namespace ofl::graph
