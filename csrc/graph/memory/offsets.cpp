#include "graph/memory/offsets.h"

#include <algorithm>
#include <tuple>

#include "graph/memory/free_blocks.h"

namespace ofl::graph {

namespace {

constexpr int64_t kMostInAnyOrder = 10000;
constexpr int64_t kMostMoves = 1000;
constexpr int64_t kMoveSteps = 3000000;  // of packing, in all moves: a few milliseconds

/// An order of the temporaries: the largest key first.
struct Order {
  const char* name;
  double (*key)(const Lifetimes& lifetimes, int64_t item);
};

const Order kOrders[] = {
    {"size", [](const Lifetimes& l, int64_t item) { return double(l.size(item)); }},
    {"lifetime", [](const Lifetimes& l, int64_t item) { return double(l.length(item)); }},
    {"product",
     [](const Lifetimes& l, int64_t item) { return double(l.size(item)) * l.length(item); }},
    {"time", [](const Lifetimes& l, int64_t item) { return -double(l.first(item)); }},
};

/// Of equal keys the larger, then the longer, then the earlier one.
Integers ordered(const Lifetimes& lifetimes, const Order& order) {
  Integers items = lifetimes.temporaries();
  std::vector<double> keys(lifetimes.count());
  for (const int64_t item : items) keys[item] = order.key(lifetimes, item);
  const auto place = [&](int64_t item) {
    return std::make_tuple(-keys[item], -lifetimes.size(item), -lifetimes.length(item), item);
  };
  std::sort(items.begin(), items.end(), [&](int64_t a, int64_t b) { return place(a) < place(b); });
  return items;
}

class Choice {
 public:
  explicit Choice(int64_t bound) { plan_.bound = bound; }

  int64_t bytes() const { return plan_.packing.bytes; }
  int64_t bound() const { return plan_.bound; }
  bool done() const { return !plan_.tried.empty() && bytes() == plan_.bound; }

  void offer(const std::string& name, Packing packing) {
    const bool better = plan_.tried.empty() || packing.bytes < bytes();
    plan_.tried.push_back({name, packing.bytes});
    if (!better) return;
    plan_.packing = std::move(packing);
    plan_.name = name;
  }

  MemoryPlan plan() { return std::move(plan_); }

 private:
  MemoryPlan plan_;
};

/// Numbers that are the same in every process.
class Random {
 public:
  int64_t below(int64_t count) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<int64_t>(state_ % static_cast<uint64_t>(count));
  }

 private:
  uint64_t state_ = 88172645463325252;
};

/// A search: in the order of size, one class after the other is moved, mostly one at the top of the
/// arena. It stays there where that is no worse, and one time in four where it is. Both fits are
/// needed: some arenas are the smallest for one of them only.
class Moves {
 public:
  explicit Moves(const Lifetimes& lifetimes)
      : lifetimes_(lifetimes),
        order_(ordered(lifetimes, kOrders[0])),
        packing_(pack(lifetimes, order_, Fit::smallest)) {}

  /// Until the arena has `bound` bytes.
  Packing run(int64_t rounds, int64_t bound) {
    Packing best = packing_;
    for (; rounds > 0 && best.bytes > bound; --rounds) {
      Integers changed = order_;
      move(&changed, chosen(), random_.below(static_cast<int64_t>(changed.size())));
      const Fit fit = random_.below(2) ? Fit::lowest : Fit::smallest;
      Packing next = pack(lifetimes_, changed, fit);
      if (next.bytes > packing_.bytes && random_.below(4)) continue;
      if (next.bytes < best.bytes) best = next;
      order_ = std::move(changed);
      packing_ = std::move(next);
    }
    return best;
  }

 private:
  int64_t chosen() {
    Integers top;
    for (size_t k = 0; k < order_.size(); ++k) {
      const int64_t item = order_[k];
      const int64_t end = packing_.offsets[item] + lifetimes_.size(item);
      if (packing_.spaces[item] == kArena && end == packing_.bytes) top.push_back(k);
    }
    if (random_.below(4) == 0) return random_.below(static_cast<int64_t>(order_.size()));
    return top[random_.below(static_cast<int64_t>(top.size()))];
  }

  static void move(Integers* order, int64_t from, int64_t to) {
    const int64_t item = (*order)[from];
    order->erase(order->begin() + from);
    order->insert(order->begin() + to, item);
  }

  const Lifetimes& lifetimes_;
  Random random_;
  Integers order_;
  Packing packing_;
};

void try_orders(const Lifetimes& lifetimes, Choice* choice) {
  if (lifetimes.temporaries().size() > kMostInAnyOrder) {
    choice->offer("time", pack_by_time(lifetimes));
    return;
  }
  for (const Order& order : kOrders) {
    if (choice->done()) return;
    choice->offer(order.name, pack(lifetimes, ordered(lifetimes, order), Fit::smallest));
  }
}

}  // namespace

MemoryPlan plan_offsets(const MemoryNeeds& needs) {
  constexpr const char* kOp = "plan_offsets";
  const Lifetimes lifetimes(kOp, needs);
  Choice choice(lifetimes.lower_bound());
  try_orders(lifetimes, &choice);
  for (const int64_t range : match_ranges(kOp, kMatchRange, true)) {
    if (choice.done()) break;
    choice.offer("blocks " + std::to_string(range), pack_in_blocks(lifetimes, range));
  }
  const int64_t count = static_cast<int64_t>(lifetimes.temporaries().size());
  const int64_t rounds = count ? std::min(kMostMoves, kMoveSteps / (count * count)) : 0;
  if (rounds && !choice.done()) choice.offer("moves", Moves(lifetimes).run(rounds, choice.bound()));
  return choice.plan();
}

int64_t lower_bound(const Integers& sizes, const Rows& users, int64_t alignment) {
  MemoryNeeds needs;
  needs.sizes = sizes;
  needs.users = users;
  needs.alignment = alignment;
  return Lifetimes("lower_bound", needs).lower_bound();
}

}  // namespace ofl::graph
