#include "distributed/boxing/assemble.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/fingerprint.h"
#include "distributed/boxing/mail.h"

namespace ofl::distributed {

namespace {

constexpr const char* kName = "to_global";

/// What a rank tells the others of its tensor.
struct Told {
  DType dtype;
  Dims shape;

  std::string str() const { return concat(name_of(dtype), " ", shape_str(shape)); }
};

constexpr int kWords = 2 + kMaxDims;

void write(const Tensor& x, int64_t* words) {
  std::fill_n(words, kWords, 0);
  words[0] = static_cast<int64_t>(x.dtype);
  words[1] = x.ndim();
  std::copy(x.shape.begin(), x.shape.end(), words + 2);
}

Told read(const int64_t* words) {
  Told told{static_cast<DType>(words[0]), {}};
  for (int64_t d = 0; d < words[1]; ++d) told.shape.push_back(words[2 + d]);
  return told;
}

class Assembly {
 public:
  Assembly(const Issuer& issuer, Member& member, const Placement& placement, const Sbps& sbps,
           Device home)
      : issuer_(issuer),
        member_(member),
        placement_(placement),
        sbps_(sbps),
        home_(home),
        id_(placement.parallel_id(member.rank())) {}

  Whole run(const Tensor& local) {
    tell(local);
    require_fitting();
    layout_ = &Layout::of(whole_shape(), placement_, sbps_);
    const bool is_balanced = fits();
    if (!is_balanced) require_cuts();
    Part part{told_[0].dtype, {}};
    if (id_ < 0) return {layout_, part};
    part.tensor = to_device(issuer_, local, home_, true);
    if (!is_balanced) part.tensor = balanced(part.tensor);
    for (int axis = 0; axis < sbps_.size(); ++axis) {
      if (sbps_[axis].share == Share::broadcast) part.tensor = of_first(axis, part.tensor);
    }
    return {layout_, part};
  }

 private:
  /// All ranks of the world get to know what those of the placement have.
  void tell(const Tensor& local) {
    std::vector<int32_t> all(static_cast<size_t>(member_.size()));
    std::iota(all.begin(), all.end(), 0);
    Mail mail(issuer_, member_, all, DType::i64, Device{});
    int64_t words[kWords];
    write(local, words);
    const Tensor own = from_host(issuer_, words, DType::i64, Dims{kWords}, Device{});
    std::vector<Tensor> all_words;
    for (const int32_t rank : all) {
      if (rank != member_.rank() && id_ >= 0) mail.send(rank, own);
    }
    for (int64_t id = 0; id < placement_.size(); ++id) {
      const int32_t rank = placement_.rank_at(id);
      all_words.push_back(id == id_ ? own : mail.receive(rank, Dims{kWords}));
    }
    Fingerprint more;
    more.add(placement_.hash());
    for (const Sbp& sbp : sbps_) {
      for (const int64_t word : {static_cast<int64_t>(sbp.share), static_cast<int64_t>(sbp.op),
                                 static_cast<int64_t>(sbp.dim)}) {
        more.add(static_cast<uint64_t>(word));
      }
    }
    mail.deliver({kName, DType::i64, nullptr, nullptr, more.value()});
    for (const Tensor& each : all_words) {
      issuer_.machine.wait_for_value(each.storage->dependence(), kName);
      told_.push_back(read(reinterpret_cast<const int64_t*>(each.address())));
    }
  }

  std::string rank_and(int64_t id) const {
    return concat("rank ", placement_.rank_at(id), " has ", told_[static_cast<size_t>(id)].str());
  }
  const Dims& shape_at(int64_t id) const { return told_[static_cast<size_t>(id)].shape; }

  /// From here on a split counts dimensions from the first.
  void require_fitting() {
    for (int64_t id = 1; id < placement_.size(); ++id) {
      const Told &first = told_[0], &other = told_[static_cast<size_t>(id)];
      if (other.dtype == first.dtype && other.shape.size() == first.shape.size()) continue;
      fail(ErrorKind::value, "[", kName, "] ", rank_and(0), ", ", rank_and(id),
           "; parts of one tensor have one dtype and one number of dimensions");
    }
    const int ndim = shape_at(0).size();
    for (Sbp& sbp : sbps_) {
      if (sbp.share != Share::split) continue;
      if (sbp.dim < -ndim || sbp.dim >= ndim) {
        fail(ErrorKind::axis, "[", kName, "] ", sbp.str(), " of parts of ", ndim,
             ndim == 1 ? " dimension" : " dimensions");
      }
      if (sbp.dim < 0) sbp.dim += ndim;
    }
  }

  /// The sum of the extents along the axes that split a dimension.
  Dims whole_shape() const {
    Dims shape = shape_at(0);
    for (int d = 0; d < shape.size(); ++d) {
      int64_t extent = 0;
      for (int64_t id = 0; id < placement_.size(); ++id) {
        const Dims at = placement_.coordinates(id);
        bool counts = true;
        for (int axis = 0; axis < at.size(); ++axis) {
          counts = counts && (at[axis] == 0 || sbps_[axis].splits(d));
        }
        if (counts) extent += shape_at(id)[d];
      }
      shape[d] = extent;
    }
    return shape;
  }

  /// Each rank has the part that it has in the layout.
  bool fits() const {
    for (int64_t id = 0; id < placement_.size(); ++id) {
      if (layout_->box(id).extent != shape_at(id)) return false;
    }
    return true;
  }

  /// Parts of other sizes: one axis splits, and the ranks along any line of it cut alike.
  void require_cuts() {
    for (int axis = 0; axis < sbps_.size(); ++axis) {
      if (sbps_[axis].share != Share::split) continue;
      if (cut_axis_ >= 0) refuse_cuts(0);
      cut_axis_ = axis;
    }
    for (int64_t id = 0; id < placement_.size(); ++id) {
      Dims expected = layout_->shape();
      if (cut_axis_ >= 0) expected[sbps_[cut_axis_].dim] = shape_at(on_first_line(id))[cut_dim()];
      if (shape_at(id) != expected) refuse_cuts(id);
    }
  }
  [[noreturn]] void refuse_cuts(int64_t id) const {
    fail(ErrorKind::value, "[", kName, "] ", rank_and(0), ", ", rank_and(id),
         "; they are no parts of one tensor in ", layout_->str(),
         ". Parts of other sizes than numpy.array_split's are taken along one axis of the grid, "
         "and all other extents are the same on all ranks");
  }
  int cut_dim() const { return sbps_[cut_axis_].dim; }
  int64_t on_first_line(int64_t id) const {
    int64_t stride = 1;
    for (int later = cut_axis_ + 1; later < placement_.grid().size(); ++later) {
      stride *= placement_.grid()[later];
    }
    return placement_.coordinates(id)[cut_axis_] * stride;
  }

  /// Elements move along the axis that splits.
  Tensor balanced(const Tensor& local) const {
    const AxisRanks along(placement_, cut_axis_, member_.rank());
    std::vector<Range> before;
    int64_t start = 0;
    for (const int32_t rank : along.ranks) {
      before.push_back({start, shape_at(placement_.parallel_id(rank))[cut_dim()]});
      start += before.back().extent;
    }
    return moved(issuer_, member_, *layout_, cut_axis_, before,
                 balanced_ranges(*layout_, cut_axis_), home_, local);
  }

  /// The value of the first rank along an axis.
  Tensor of_first(int axis, const Tensor& local) const {
    const AxisRanks along(placement_, axis, member_.rank());
    Mail mail(issuer_, member_, along.ranks, local.dtype, home_);
    Tensor value = local;
    if (along.place == 0) {
      for (size_t k = 1; k < along.ranks.size(); ++k) mail.send(along.ranks[k], local);
    } else {
      value = mail.receive(along.ranks[0], local.shape);
    }
    mail.deliver({"broadcast", local.dtype, nullptr, layout_});
    return mail.arrived(value);
  }

  const Issuer& issuer_;
  Member& member_;
  const Placement& placement_;
  Sbps sbps_;
  const Device home_;
  const int64_t id_;  // of this rank; negative: it is outside
  std::vector<Told> told_;
  const Layout* layout_ = nullptr;
  int cut_axis_ = -1;
};

}  // namespace

std::vector<Range> balanced_ranges(const Layout& layout, int axis) {
  const int64_t count = layout.placement().grid()[axis];
  const Range whole = {0, layout.shape()[layout.sbps()[axis].dim]};
  std::vector<Range> ranges;
  for (int64_t k = 0; k < count; ++k) ranges.push_back(part_of(whole, count, k));
  return ranges;
}

Tensor moved(const Issuer& issuer, Member& member, const Layout& layout, int axis,
             const std::vector<Range>& before, const std::vector<Range>& after, Device home,
             const Tensor& local) {
  const int dim = layout.sbps()[axis].dim;
  const AxisRanks along(layout.placement(), axis, member.rank());
  const auto count = static_cast<int64_t>(along.ranks.size());
  const auto box_of = [&](const Range& range) {
    Box box{Dims(local.ndim()), local.shape};
    box.start[dim] = range.start;
    box.extent[dim] = range.extent;
    return box;
  };
  const Box own = box_of(before[along.place]), wanted = box_of(after[along.place]);
  const Tensor result = empty(issuer, home, local.dtype, wanted.extent);
  Mail mail(issuer, member, along.ranks, local.dtype, home);
  std::vector<std::pair<Box, Tensor>> pieces;
  for (int64_t k = 0; k < count; ++k) {
    const Box given = common(own, box_of(after[k])), taken = common(wanted, box_of(before[k]));
    if (k == along.place) {
      if (given.elements()) pieces.emplace_back(given, view_of(local, own, given));
      continue;
    }
    if (given.elements()) mail.send(along.ranks[k], view_of(local, own, given));
    if (taken.elements()) pieces.emplace_back(taken, mail.receive(along.ranks[k], taken.extent));
  }
  Fingerprint ranges;
  for (const auto* side : {&before, &after}) {
    for (const Range& range : *side) {
      ranges.add(static_cast<uint64_t>(range.start));
      ranges.add(static_cast<uint64_t>(range.extent));
    }
  }
  mail.deliver({"balance", local.dtype, nullptr, &layout, ranges.value()});
  for (const auto& [box, value] : pieces) {
    assign(issuer, view_of(result, wanted, box), mail.arrived(value), "balance");
  }
  return result;
}

Whole assemble(const Issuer& issuer, Member& member, const Placement& placement, const Sbps& sbps,
               Device home, const Tensor& local) {
  member.require_in_world(placement);
  if (sbps.size() != placement.grid().size()) {
    fail(ErrorKind::value, "[", kName, "] expected ", placement.grid().size(),
         " sbps, one for each axis of the grid, got ", sbps.size());
  }
  return Assembly(issuer, member, placement, sbps, home).run(local);
}

}  // namespace ofl::distributed
