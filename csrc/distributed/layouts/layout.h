// Layout: which part of a tensor each rank holds. A pure function of global shape, placement and
// sbp: no rank asks another one for it.
//
//   dimension of 5, split over a grid of 2 x 2 by both axes:   3 rows | 2 rows  ─►  2 1 | 1 1
#pragma once

#include <functional>
#include <string>

#include "distributed/layouts/placement.h"
#include "distributed/layouts/sbp.h"

namespace ofl::distributed {

using Sbps = SmallVector<Sbp, 4>;

/// Part of a dimension: [start, start + extent).
struct Range {
  int64_t start, extent;
};

/// The balanced part of a range, as numpy.array_split() cuts it: the first ones have one more.
Range part_of(const Range& whole, int64_t parts, int64_t which);

/// The parts that have a place in common with another range: [first, last].
struct Parts {
  int64_t first, last;
};
Parts parts_meeting(const Range& whole, int64_t parts, const Range& other);

/// Part of a tensor: a range of each dimension.
struct Box {
  Dims start, extent;

  int64_t elements() const { return element_count(extent); }
  bool operator==(const Box& other) const { return start == other.start && extent == other.extent; }
};

/// The box that two boxes have in common; it has no elements where there is none.
Box common(const Box& a, const Box& b);

/// There is one object of each value, so equal ones have one address.
class Layout {
 public:
  /// Error(value) for another number of sbps than the grid has axes, and for partial values of two
  /// operators; Error(axis) for a split of a dimension that is not there. A split may count
  /// dimensions from the end.
  static const Layout& of(const Dims& shape, const Placement& placement, Sbps sbps);
  Layout(const Layout&) = delete;

  const Dims& shape() const { return shape_; }
  const Placement& placement() const { return placement_; }
  const Sbps& sbps() const { return sbps_; }
  /// The same with another sbp at one axis of the grid.
  const Layout& with(int axis, Sbp sbp) const;

  /// The part that the rank at this place of the grid holds.
  Box box(int64_t parallel_id) const;

  /// How a place of the grid is looked for: the coordinate at an axis, or any that fits.
  static constexpr int64_t kAny = -1;
  using Visit = std::function<void(int64_t parallel_id, const Box& common)>;
  /// Visits each place whose box has elements in common with this one, in order, of those with the
  /// coordinates given. Time: their number, times the axes of the grid.
  void visit_meeting(const Box& box, const Dims& coordinates, const Visit& visit) const;

  /// Of its value: the same in each process.
  uint64_t hash() const { return hash_; }
  /// "(1000, 4) split(0) on cpu [0, 1]".
  std::string str() const;

 private:
  Layout(const Dims& shape, const Placement& placement, const Sbps& sbps, uint64_t hash);

  const Dims shape_;
  const Placement& placement_;
  const Sbps sbps_;
  const uint64_t hash_;
};

}  // namespace ofl::distributed
