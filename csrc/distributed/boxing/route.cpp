#include "distributed/boxing/route.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "distributed/boxing/mail.h"
#include "distributed/boxing/runs.h"

namespace ofl::distributed {

namespace {

std::vector<int32_t> ranks_of_both(const Placement& a, const Placement& b) {
  std::vector<int32_t> ranks;
  for (const Placement* placement : {&a, &b}) {
    for (int64_t id = 0; id < placement->size(); ++id) ranks.push_back(placement->rank_at(id));
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

Box box_at(const Layout& layout, int32_t rank) {
  return layout.box(layout.placement().parallel_id(rank));
}

Route find_route(const BoxingStep& step, int32_t rank, DType dtype) {
  const Layout &from = *step.from, &to = *step.to;
  Route route;
  route.ranks = step.axis >= 0 ? AxisRanks(from.placement(), step.axis, rank).ranks
                               : ranks_of_both(from.placement(), to.placement());
  route.is_before = from.placement().parallel_id(rank) >= 0;
  route.is_after = to.placement().parallel_id(rank) >= 0;
  if (route.is_before) {
    route.before = box_at(from, rank);
    for (Piece& piece : sent(from, to, rank)) {
      if (piece.rank == rank) continue;
      const int64_t by = message_size(piece.box, route.before, box_at(to, piece.rank), dtype);
      route.sends.push_back({std::move(piece), by});
    }
  }
  if (route.is_after) {
    route.after = box_at(to, rank);
    for (Piece& piece : received(from, to, rank)) {
      const int64_t by = message_size(piece.box, box_at(from, piece.rank), route.after, dtype);
      route.receives.push_back({std::move(piece), by});
    }
  }
  return route;
}

/// The routes of one thread. With more than kMostLegs it begins anew.
struct Known {
  static constexpr size_t kMostLegs = 8 << 10;
  std::map<std::tuple<const BoxingStep*, int32_t, DType>, Route> routes;
  size_t legs = 0;
};

}  // namespace

const Route& route_of(const BoxingStep& step, int32_t rank, DType dtype) {
  static thread_local Known known;
  const std::tuple<const BoxingStep*, int32_t, DType> key{&step, rank, dtype};
  const auto found = known.routes.find(key);
  if (found != known.routes.end()) return found->second;
  Route route = find_route(step, rank, dtype);
  const size_t legs = 1 + route.sends.size() + route.receives.size() + route.ranks.size();
  if (known.legs + legs > Known::kMostLegs) known = {};
  known.legs += legs;
  return known.routes.emplace(key, std::move(route)).first->second;
}

}  // namespace ofl::distributed
