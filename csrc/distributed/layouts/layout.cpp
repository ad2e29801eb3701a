#include "distributed/layouts/layout.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "base/fingerprint.h"

namespace ofl::distributed {

namespace {

struct Known {
  std::mutex mutex;  // guards the map; entries stay
  std::multimap<uint64_t, std::unique_ptr<Layout>> layouts;
};

Known& known() {
  static Known* all = new Known;
  return *all;
}

/// Dimensions counted from the start.
Sbps checked(const Dims& shape, const Placement& placement, Sbps sbps) {
  const int axes = placement.grid().size();
  if (sbps.size() != axes) {
    fail(ErrorKind::value, "[layout] expected ", axes, " sbps, one for each axis of the grid ",
         shape_str(placement.grid()), ", got ", sbps.size());
  }
  const Sbp* partial = nullptr;
  for (Sbp& sbp : sbps) {
    if (sbp.is_partial()) {
      if (partial && *partial != sbp) {
        fail(ErrorKind::value, "[layout] ", partial->str(), " and ", sbp.str(),
             ": their order would count; expected one operator for all axes");
      }
      partial = &sbp;
    }
    if (sbp.share != Share::split) continue;
    if (sbp.dim < -shape.size() || sbp.dim >= shape.size()) {
      fail(ErrorKind::axis, "[layout] ", sbp.str(), " of a tensor of shape ", shape_str(shape),
           ", which has ", shape.size(), " dimensions");
    }
    if (sbp.dim < 0) sbp.dim += shape.size();
  }
  return sbps;
}

/// Walks the axes of a grid, with the part of the tensor that is left.
class Walk {
 public:
  Walk(const Layout& layout, const Box& wanted, const Dims& coordinates, const Layout::Visit& visit)
      : layout_(layout), wanted_(wanted), coordinates_(coordinates), visit_(visit) {}

  void step(int axis, int64_t id, const Box& held) {
    const Dims& grid = layout_.placement().grid();
    if (axis == grid.size()) return visit_(id, common(held, wanted_));
    const Sbp& sbp = layout_.sbps()[axis];
    const int64_t parts = grid[axis], given = coordinates_[axis];
    Parts fitting{0, parts - 1};
    if (sbp.share == Share::split) {
      fitting = parts_meeting(range(held, sbp.dim), parts, range(wanted_, sbp.dim));
    }
    if (given != Layout::kAny) {
      fitting = {std::max(fitting.first, given), std::min(fitting.last, given)};
    }
    for (int64_t c = fitting.first; c <= fitting.last; ++c) {
      Box part = held;
      if (sbp.share == Share::split) {
        const Range cut = part_of(range(held, sbp.dim), parts, c);
        part.start[sbp.dim] = cut.start;
        part.extent[sbp.dim] = cut.extent;
      }
      step(axis + 1, id * parts + c, part);
    }
  }

 private:
  static Range range(const Box& box, int dim) { return {box.start[dim], box.extent[dim]}; }

  const Layout& layout_;
  const Box& wanted_;
  const Dims& coordinates_;
  const Layout::Visit& visit_;
};

}  // namespace

Range part_of(const Range& whole, int64_t parts, int64_t which) {
  const int64_t size = whole.extent / parts, longer = whole.extent % parts;
  return {whole.start + which * size + std::min(which, longer), size + (which < longer ? 1 : 0)};
}

Parts parts_meeting(const Range& whole, int64_t parts, const Range& other) {
  const int64_t low = std::max(whole.start, other.start) - whole.start;
  const int64_t high =
      std::min(whole.start + whole.extent, other.start + other.extent) - whole.start;
  if (low >= high) return {0, -1};
  const int64_t size = whole.extent / parts, longer = whole.extent % parts;
  const auto part_with = [&](int64_t place) {
    const int64_t in_longer = longer * (size + 1);
    return place < in_longer ? place / (size + 1) : longer + (place - in_longer) / size;
  };
  return {part_with(low), part_with(high - 1)};
}

Box common(const Box& a, const Box& b) {
  Box box = a;
  for (int d = 0; d < a.start.size(); ++d) {
    const int64_t end = std::min(a.start[d] + a.extent[d], b.start[d] + b.extent[d]);
    box.start[d] = std::max(a.start[d], b.start[d]);
    box.extent[d] = std::max<int64_t>(end - box.start[d], 0);
  }
  return box;
}

Layout::Layout(const Dims& shape, const Placement& placement, const Sbps& sbps, uint64_t hash)
    : shape_(shape), placement_(placement), sbps_(sbps), hash_(hash) {}

const Layout& Layout::of(const Dims& shape, const Placement& placement, Sbps given) {
  const Sbps sbps = checked(shape, placement, std::move(given));
  Fingerprint fingerprint;
  fingerprint.add_all(shape);
  fingerprint.add(placement.hash());
  for (const Sbp& sbp : sbps) {
    fingerprint.add(static_cast<uint64_t>(sbp.share) << 40 | static_cast<uint64_t>(sbp.op) << 32 |
                    static_cast<uint32_t>(sbp.dim));
  }
  const uint64_t hash = fingerprint.value();
  std::lock_guard<std::mutex> lock(known().mutex);
  const auto [first, last] = known().layouts.equal_range(hash);
  for (auto entry = first; entry != last; ++entry) {
    const Layout& one = *entry->second;
    if (&one.placement_ == &placement && one.shape_ == shape && one.sbps_ == sbps) return one;
  }
  std::unique_ptr<Layout> made(new Layout(shape, placement, sbps, hash));
  return *known().layouts.emplace(hash, std::move(made))->second;
}

const Layout& Layout::with(int axis, Sbp sbp) const {
  Sbps sbps = sbps_;
  sbps[axis] = sbp;
  return of(shape_, placement_, std::move(sbps));
}

Box Layout::box(int64_t parallel_id) const {
  const Dims coordinates = placement_.coordinates(parallel_id);
  Box box{Dims(shape_.size()), shape_};
  for (int axis = 0; axis < sbps_.size(); ++axis) {
    if (sbps_[axis].share != Share::split) continue;
    const int d = sbps_[axis].dim;
    const Range part =
        part_of({box.start[d], box.extent[d]}, placement_.grid()[axis], coordinates[axis]);
    box.start[d] = part.start;
    box.extent[d] = part.extent;
  }
  return box;
}

void Layout::visit_meeting(const Box& box, const Dims& coordinates, const Visit& visit) const {
  if (box.elements() == 0) return;
  Walk(*this, box, coordinates, visit).step(0, 0, {Dims(shape_.size()), shape_});
}

std::string Layout::str() const {
  std::string text = shape_str(shape_);
  for (int axis = 0; axis < sbps_.size(); ++axis) text += (axis ? ", " : " ") + sbps_[axis].str();
  return text + " on " + placement_.str();
}

}  // namespace ofl::distributed
