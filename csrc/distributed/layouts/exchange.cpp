#include "distributed/layouts/exchange.h"

#include "base/error.h"

namespace ofl::distributed {

namespace {

class Exchange {
 public:
  Exchange(const Layout& from, const Layout& to)
      : from_(from), to_(to), is_one_grid_(&from.placement() == &to.placement()) {}

  bool stays(int axis) const {
    return is_one_grid_ && from_.sbps()[axis].is_partial() &&
           from_.sbps()[axis] == to_.sbps()[axis];
  }

  /// Which holders a receiver takes: a coordinate for each axis whose ranks hold the same, or that
  /// stays; kAny for the others.
  Dims holders_for(int32_t rank, int64_t to_id) const {
    const Dims& grid = from_.placement().grid();
    const int64_t own = from_.placement().parallel_id(rank);
    Dims chosen(grid.size(), Layout::kAny);
    const Dims at = own >= 0 ? from_.placement().coordinates(own) : Dims(grid.size());
    int64_t turn = to_id;
    for (int axis = grid.size() - 1; axis >= 0; --axis) {
      if (from_.sbps()[axis].share == Share::broadcast) {
        chosen[axis] = own >= 0 ? at[axis] : turn % grid[axis];
        turn /= grid[axis];
      } else if (stays(axis)) {
        chosen[axis] = at[axis];
      }
    }
    return chosen;
  }

  int64_t part_at(int64_t from_id) const {
    const Dims coordinates = from_.placement().coordinates(from_id);
    int64_t part = 0;
    for (int axis = 0; axis < coordinates.size(); ++axis) {
      if (!from_.sbps()[axis].is_partial() || stays(axis)) continue;
      part = part * from_.placement().grid()[axis] + coordinates[axis];
    }
    return part;
  }

  std::vector<Piece> received(int32_t rank) const {
    std::vector<Piece> pieces;
    const int64_t id = to_.placement().parallel_id(rank);
    if (id < 0) return pieces;
    from_.visit_meeting(to_.box(id), holders_for(rank, id), [&](int64_t from_id, const Box& box) {
      pieces.push_back({from_.placement().rank_at(from_id), box, part_at(from_id)});
    });
    return pieces;
  }

  std::vector<Piece> sent(int32_t rank) const {
    std::vector<Piece> pieces;
    const int64_t id = from_.placement().parallel_id(rank);
    if (id < 0) return pieces;
    const Dims own = from_.placement().coordinates(id);
    const int64_t part = part_at(id);
    to_.visit_meeting(from_.box(id), receivers_of(own), [&](int64_t to_id, const Box& box) {
      const int32_t receiver = to_.placement().rank_at(to_id);
      if (takes(holders_for(receiver, to_id), own)) pieces.push_back({receiver, box, part});
    });
    return pieces;
  }

 private:
  /// In one grid a receiver takes what the holders at its own coordinates have.
  Dims receivers_of(const Dims& own) const {
    Dims given(to_.placement().grid().size(), Layout::kAny);
    if (!is_one_grid_) return given;
    for (int axis = 0; axis < given.size(); ++axis) {
      const bool is_own = from_.sbps()[axis].share == Share::broadcast || stays(axis);
      if (is_own) given[axis] = own[axis];
    }
    return given;
  }

  static bool takes(const Dims& chosen, const Dims& holder) {
    for (int axis = 0; axis < chosen.size(); ++axis) {
      if (chosen[axis] != Layout::kAny && chosen[axis] != holder[axis]) return false;
    }
    return true;
  }

  const Layout& from_;
  const Layout& to_;
  const bool is_one_grid_;
};

}  // namespace

void require_exchangeable(const Layout& from, const Layout& to) {
  if (from.shape() != to.shape()) {
    fail(ErrorKind::value, "[boxing] from shape ", shape_str(from.shape()), " to ",
         shape_str(to.shape()), "; a layout has the shape of its tensor");
  }
  const Exchange exchange(from, to);
  for (const Sbp& sbp : to.sbps()) {
    const int axis = static_cast<int>(&sbp - to.sbps().begin());
    if (sbp.is_partial() && !exchange.stays(axis)) {
      fail(ErrorKind::value, "[boxing] to ", to.str(),
           ": no rank gets a partial value from others");
    }
  }
}

std::vector<Piece> received(const Layout& from, const Layout& to, int32_t rank) {
  require_exchangeable(from, to);
  return Exchange(from, to).received(rank);
}

std::vector<Piece> sent(const Layout& from, const Layout& to, int32_t rank) {
  require_exchangeable(from, to);
  return Exchange(from, to).sent(rank);
}

int64_t bytes_received(const Layout& from, const Layout& to, int32_t rank, int64_t itemsize) {
  int64_t elements = 0;
  for (const Piece& piece : received(from, to, rank)) {
    if (piece.rank != rank) elements += piece.box.elements();
  }
  return elements * itemsize;
}

}  // namespace ofl::distributed
