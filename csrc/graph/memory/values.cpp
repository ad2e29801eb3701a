#include "graph/memory/values.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace ofl::graph {

Classes::Classes(int64_t values) : parent_(values) { std::iota(parent_.begin(), parent_.end(), 0); }

Classes::Classes(const Integers& classes) : parent_(classes.size()) {
  Integers first(classes.size(), -1);
  for (size_t value = 0; value < classes.size(); ++value) {
    int64_t& member = first[classes[value]];
    if (member < 0) member = static_cast<int64_t>(value);
    parent_[value] = member;
  }
}

int64_t Classes::of(int64_t value) const {
  while (parent_[value] != value) value = parent_[value] = parent_[parent_[value]];
  return value;
}

void Classes::join(int64_t value, int64_t other) { parent_[of(other)] = of(value); }

Integers Classes::numbers() const {
  Integers number(parent_.size(), -1), found;
  int64_t next = 0;
  for (size_t value = 0; value < parent_.size(); ++value) {
    int64_t& mine = number[of(static_cast<int64_t>(value))];
    if (mine < 0) mine = next++;
    found.push_back(mine);
  }
  return found;
}

Integers alias_classes(int64_t values, const std::vector<std::pair<int64_t, int64_t>>& pairs) {
  if (values < 0) fail(ErrorKind::value, "[alias_classes] negative number of values ", values);
  Classes classes(values);
  for (const auto& [value, other] : pairs) {
    check_index("alias_classes", "pairs: value", value, values);
    check_index("alias_classes", "pairs: value", other, values);
    classes.join(value, other);
  }
  return classes.numbers();
}

Rows class_users(const Accesses& accesses, const Integers& classes) {
  check_classes("class_users", classes);
  check_accesses("class_users", accesses, static_cast<int64_t>(classes.size()));
  int64_t count = 0;
  for (const int64_t each : classes) count = std::max(count, each + 1);
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (int64_t i = 0; i < accesses.count(); ++i) {
    for (const Accessed& accessed : accesses[i]) {
      if (accessed.how != Access::shape) pairs.emplace_back(classes[accessed.value], i);
    }
  }
  return grouped(count, pairs);
}

void check_accesses(const char* op, const Accesses& accesses, int64_t values) {
  for (int64_t i = 0; i < accesses.count(); ++i) {
    for (const Accessed& accessed : accesses[i]) {
      check_index(op, "accesses: value", accessed.value, values);
    }
  }
}

void check_classes(const char* op, const Integers& classes) {
  const int64_t values = static_cast<int64_t>(classes.size());
  for (const int64_t each : classes) check_index(op, "class", each, values);
}

void check_values(const char* op, const Values& values) {
  check_classes(op, values.classes);
  check_length(op, "kinds", static_cast<int64_t>(values.kinds.size()), values.count());
  check_length(op, "places", static_cast<int64_t>(values.places.size()), values.count());
}

}  // namespace ofl::graph
