// The objects that a trace has found, and the ways that lead to them. Ways with a common beginning
// are joined.
#pragma once

#include <optional>
#include <vector>

#include "python/graph/held.h"

namespace ofl::python {

/// The kind of an object. A plain one leads neither to a tensor nor to a function, as far as a
/// short look tells: a number, a text, a class, None. A place without an object is plain, too.
enum class Sort : int8_t { plain, tensor, holder };

/// The items of a list, tuple, deque or dict that are not plain, in order.
struct Contents {
  bool is_mapping;
  std::vector<Sort> sorts;  // of a sequence also of the plain ones before the last of them
  std::vector<Held> keys;   // of a mapping
};

/// A way from a holder, through an attribute, an item, a variable of a closure or a global, to what
/// is watched or on.
struct Step {
  enum class Kind : uint8_t { attribute, item, cell, global };

  Kind kind;
  Held key;
  std::vector<Held> same;      // at most one: what must be there
  std::vector<Held> function;  // of a method its object and its function, held weakly
  std::optional<Sort> sort;
  std::optional<Contents> contents;
  std::vector<Step> steps;
};

/// Adds a row ((step, ...), what, x), whose steps are (kind, key): "same" and an object, "function"
/// as function_of() gives it, "sort" and its number, or "contents" as contents_of() gives them.
void add_watch(std::vector<Step>& steps, PyObject* row);
/// Whether the steps from `found` on, and so what `step` itself leads to, are as they were.
bool is_there(const Step& step, PyObject* found);
int visit_step(const Step& step, visitproc visit, void* arg);

}  // namespace ofl::python
