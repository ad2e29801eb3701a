// Where captured tensors are found: ways that lead to them, with common beginnings joined.
#pragma once

#include <vector>

#include "python/graph/held.h"

namespace ofl::python {

/// A way to captured tensors: from a holder, through an attribute, an item, a variable of a closure
/// or a global, to a tensor or on.
struct Step {
  enum class Kind : uint8_t { attribute, item, cell, global };

  Kind kind;
  Held key;
  std::vector<Held> tensors;  // at most one: what must be there
  std::vector<Step> steps;
};

/// Adds a row ((step, ...), tensor), whose steps are (kind, key).
void add_watch(std::vector<Step>& steps, PyObject* row);
/// Whether the steps from `found` on, and so what `step` itself leads to, are as they were.
bool is_there(const Step& step, PyObject* found);
int visit_step(const Step& step, visitproc visit, void* arg);

}  // namespace ofl::python
