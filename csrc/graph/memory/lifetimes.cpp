#include "graph/memory/lifetimes.h"

#include <algorithm>

#include "base/error.h"

namespace ofl::graph {

namespace {

Integers lanes_of(const char* op, const MemoryNeeds& needs) {
  if (!needs.lanes.empty()) return needs.lanes;
  int64_t operations = 0;
  for (int64_t item = 0; item < needs.users.count(); ++item) {
    for (const int64_t user : needs.users[item]) {
      check_index(op, "users: operation", user, int64_t{1} << 31);
      operations = std::max(operations, user + 1);
    }
  }
  for (const Edge& edge : needs.edges) operations = std::max(operations, edge.after + 1);
  return Integers(operations);
}

Integers rounded(const char* op, const Integers& sizes, int64_t alignment) {
  if (alignment < 1 || (alignment & (alignment - 1))) {
    fail(ErrorKind::value, "[", op, "] expected an alignment of a power of two, got ", alignment);
  }
  Integers found;
  int64_t sum = 0;
  for (const int64_t size : sizes) {
    if (size < 0) fail(ErrorKind::value, "[", op, "] negative size ", size);
    int64_t most = 0;
    if (__builtin_add_overflow(size, alignment - 1, &most) ||
        __builtin_add_overflow(sum, most, &sum)) {
      fail(ErrorKind::overflow, "[", op, "] the sizes are too big to be added");
    }
    found.push_back(most & ~(alignment - 1));
  }
  return found;
}

}  // namespace

Lifetimes::Lifetimes(const char* op, const MemoryNeeds& needs)
    : clocks_(op, lanes_of(op, needs), needs.edges),
      bytes_(needs.sizes),
      sizes_(rounded(op, needs.sizes, needs.alignment)),
      first_(sizes_.size(), -1),
      last_(sizes_.size(), -1),
      released_(sizes_.size() * clocks_.lanes()) {
  check_length(op, "users", needs.users.count(), count());
  read_users(op, needs);
}

void Lifetimes::read_users(const char* op, const MemoryNeeds& needs) {
  std::vector<bool> is_result(count());
  for (const int64_t item : needs.results) {
    check_index(op, "results: class", item, count());
    is_result[item] = true;
  }
  for (int64_t item = 0; item < count(); ++item) {
    const Rows::Row users = needs.users[item];
    if (users.empty()) continue;
    for (const int64_t user : users) check_index(op, "users: operation", user, operations());
    first_[item] = *std::min_element(users.begin(), users.end());
    last_[item] = *std::max_element(users.begin(), users.end());
    for (const int64_t user : users) {
      if (user == first_[item] || clocks_.before(first_[item], user)) continue;
      fail(ErrorKind::value, "[", op, "] class ", item, ": operation ", user,
           " does not run after operation ", first_[item], ", the first that uses it");
    }
    release(item, users);
    (is_result[item] ? results_ : temporaries_).push_back(item);
  }
}

void Lifetimes::release(int64_t item, const Rows::Row& users) {
  Integers last(clocks_.lanes(), -1);
  for (const int64_t user : users) {
    int64_t& latest = last[clocks_.lane(user)];
    latest = std::max(latest, user);
  }
  for (int64_t lane = 0; lane < clocks_.lanes(); ++lane) {
    released_[item * clocks_.lanes() + lane] =
        static_cast<int32_t>(clocks_.first_after(last, lane));
  }
}

/// Of each class: a result that is as large begins after it.
std::vector<bool> Lifetimes::fit_results() const {
  Integers results = results_, temporaries = temporaries_;
  const auto larger = [this](int64_t a, int64_t b) { return size(a) > size(b); };
  std::sort(results.begin(), results.end(), larger);
  std::sort(temporaries.begin(), temporaries.end(), larger);
  std::vector<bool> fit(count());
  auto next = results.begin();
  int64_t latest = -1;  // the beginning of those that are as large
  for (const int64_t item : temporaries) {
    for (; next != results.end() && size(*next) >= size(item); ++next) {
      latest = std::max(latest, first(*next));
    }
    fit[item] = last(item) < latest;
  }
  return fit;
}

int64_t Lifetimes::lower_bound() const {
  const std::vector<bool> fit = fit_results();
  Integers in_arena(operations() + 1), in_any(operations() + 1), begun(operations() + 1);
  int64_t room = 0;  // in results that have not begun
  for (const int64_t item : results_) {
    begun[first(item)] += size(item);
    room += size(item);
  }
  for (const int64_t item : temporaries_) {
    Integers& change = fit[item] ? in_any : in_arena;
    change[first(item)] += size(item);
    change[last(item) + 1] -= size(item);
  }
  int64_t least = 0, arena = 0, any = 0;
  for (int64_t i = 0; i < operations(); ++i) {
    arena += in_arena[i];
    any += in_any[i];
    room -= begun[i];
    least = std::max(least, arena + std::max(any - room, int64_t{0}));
  }
  return least;
}

}  // namespace ofl::graph
