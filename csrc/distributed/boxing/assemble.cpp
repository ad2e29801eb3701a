#include "distributed/boxing/assemble.h"

#include <string>
#include <utility>

#include "base/error.h"
#include "base/fingerprint.h"
#include "distributed/boxing/buckets.h"
#include "distributed/boxing/mail.h"
#include "distributed/boxing/told.h"

namespace ofl::distributed {

namespace {

constexpr const char* kName = "to_global";

/// Of what has to be the same on all ranks: the sbps, and the function that the program calls.
uint64_t hash_of(const Sbps& sbps, const std::string& caller) {
  Fingerprint hash;
  hash.add_all(caller);
  for (const Sbp& sbp : sbps) {
    for (const int64_t word : {static_cast<int64_t>(sbp.share), static_cast<int64_t>(sbp.op),
                               static_cast<int64_t>(sbp.dim)}) {
      hash.add(static_cast<uint64_t>(word));
    }
  }
  return hash.value();
}

/// "to_global of float32 (2, 3) to split(0) on cpu [0, 1]": what one rank has and asks for.
std::string text_of(const std::vector<Told>& own, const Sbps& sbps, const Placement& placement) {
  std::string text = concat(kName, " of ", own.empty() ? "nothing" : own[0].str());
  if (own.size() > 1) text += concat(" and ", own.size() - 1, " more");
  for (int axis = 0; axis < sbps.size(); ++axis) text += (axis ? ", " : " to ") + sbps[axis].str();
  return concat(text, " on ", placement.str());
}

/// One tensor of what the ranks have told each other.
class Assembly {
 public:
  /// Error(value) on all ranks for parts that do not fit together. `which`: "tensor 3: ", or "".
  Assembly(const Placement& placement, const Sbps& sbps, std::vector<Told> told, std::string which)
      : placement_(placement), sbps_(sbps), told_(std::move(told)), which_(std::move(which)) {
    require_fitting();
    layout_ = &Layout::of(whole_shape(), placement_, sbps_);
    is_balanced_ = fits();
    if (!is_balanced_) require_cuts();
  }

  const Layout& layout() const { return *layout_; }
  DType dtype() const { return told_[0].dtype; }

  /// A rank's part, on its device; its memory is new.
  Tensor part(const Issuer& issuer, Member& member, Device home, const Tensor& local) const {
    const Tensor own = to_device(issuer, local, home, true);
    return is_balanced_ ? own : balanced(issuer, member, home, own);
  }

 private:
  std::string rank_and(int64_t id) const {
    return concat("rank ", placement_.rank_at(id), " has ", told_[static_cast<size_t>(id)].str());
  }
  const Dims& shape_at(int64_t id) const { return told_[static_cast<size_t>(id)].shape; }

  /// From here on a split counts dimensions from the first.
  void require_fitting() {
    for (int64_t id = 1; id < placement_.size(); ++id) {
      const Told &first = told_[0], &other = told_[static_cast<size_t>(id)];
      if (other.dtype == first.dtype && other.shape.size() == first.shape.size()) continue;
      fail(ErrorKind::value, "[", kName, "] ", which_, rank_and(0), ", ", rank_and(id),
           "; parts of one tensor have one dtype and one number of dimensions");
    }
    require_values(sbps_, dtype(), kName);
    const int ndim = shape_at(0).size();
    for (Sbp& sbp : sbps_) {
      if (sbp.share != Share::split) continue;
      if (sbp.dim < -ndim || sbp.dim >= ndim) {
        fail(ErrorKind::axis, "[", kName, "] ", which_, sbp.str(), " of parts of ", ndim,
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
    fail(ErrorKind::value, "[", kName, "] ", which_, rank_and(0), ", ", rank_and(id),
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
  Tensor balanced(const Issuer& issuer, Member& member, Device home, const Tensor& own) const {
    const AxisRanks along(placement_, cut_axis_, member.rank());
    std::vector<Range> before;
    int64_t start = 0;
    for (const int32_t rank : along.ranks) {
      before.push_back({start, shape_at(placement_.parallel_id(rank))[cut_dim()]});
      start += before.back().extent;
    }
    return moved(issuer, member, *layout_, cut_axis_, before, balanced_ranges(*layout_, cut_axis_),
                 home, own);
  }

  const Placement& placement_;
  Sbps sbps_;
  const std::vector<Told> told_;  // by parallel id
  const std::string which_;
  const Layout* layout_ = nullptr;
  bool is_balanced_ = false;
  int cut_axis_ = -1;
};

/// The value of the first rank along an axis, of a tensor in this layout.
Tensor of_first(const Issuer& issuer, Member& member, const Layout& layout, int axis, Device home,
                const Tensor& local) {
  const AxisRanks along(layout.placement(), axis, member.rank());
  Mail mail(issuer, member, along.ranks, local.dtype, home);
  Tensor value = local;
  if (along.place == 0) {
    for (size_t k = 1; k < along.ranks.size(); ++k) mail.send(along.ranks[k], local);
  } else {
    value = mail.receive(along.ranks[0], local.shape);
  }
  mail.deliver({"broadcast", local.dtype, nullptr, &layout});
  return mail.arrived(value);
}

/// The same of many, in buckets.
void take_first(const Issuer& issuer, Member& member, int axis, Device home,
                std::vector<Whole>* wholes) {
  std::vector<BucketItem> items;
  for (const Whole& whole : *wholes) {
    const int kind = static_cast<int>(whole.part.dtype);
    items.push_back({kind, bytes_of(*whole.layout, whole.part.dtype)});
  }
  for (const std::vector<size_t>& bucket : buckets_of(items)) {
    Whole& first = (*wholes)[bucket[0]];
    if (bucket.size() == 1) {
      first.part.tensor = of_first(issuer, member, *first.layout, axis, home, first.part.tensor);
      continue;
    }
    std::vector<Tensor> parts;
    for (const size_t i : bucket) parts.push_back((*wholes)[i].part.tensor);
    const Tensor pack = packed(issuer, parts);
    const Placement& ranks = first.layout->placement().along({axis}, member.rank());
    const Layout& layout = Layout::of(pack.shape, ranks, {Sbp::broadcast()});
    const std::vector<Tensor> views =
        unpacked(of_first(issuer, member, layout, 0, home, pack), parts);
    for (size_t k = 0; k < bucket.size(); ++k) (*wholes)[bucket[k]].part.tensor = views[k];
  }
}

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

std::vector<Whole> assemble_all(const Issuer& issuer, Member& member, const Placement& placement,
                                const Sbps& sbps, Device home, const std::vector<Tensor>& locals,
                                const std::string& caller) {
  member.require_in_world(placement);
  if (sbps.size() != placement.grid().size()) {
    fail(ErrorKind::value, "[", kName, "] expected ", placement.grid().size(),
         " sbps, one for each axis of the grid, got ", sbps.size());
  }
  std::vector<Told> own;
  for (const Tensor& local : locals) own.push_back({local.dtype, local.shape});
  const auto text = [caller, own, sbps, &placement] {
    return caller.empty() ? text_of(own, sbps, placement) : caller;
  };
  std::vector<std::vector<Told>> told =
      tell(issuer, member, kName, placement, hash_of(sbps, caller), own, text);
  std::vector<Assembly> each;
  for (size_t i = 0; i < locals.size(); ++i) {
    std::string which = locals.size() > 1 ? concat("tensor ", i, ": ") : "";
    each.emplace_back(placement, sbps, std::move(told[i]), std::move(which));
  }
  const bool is_here = placement.parallel_id(member.rank()) >= 0;
  std::vector<Whole> wholes;
  for (size_t i = 0; i < locals.size(); ++i) {
    Part part{each[i].dtype(), {}};
    if (is_here) part.tensor = each[i].part(issuer, member, home, locals[i]);
    wholes.push_back({&each[i].layout(), std::move(part)});
  }
  for (int axis = 0; is_here && axis < sbps.size(); ++axis) {
    if (sbps[axis].share == Share::broadcast) take_first(issuer, member, axis, home, &wholes);
  }
  return wholes;
}

Whole assemble(const Issuer& issuer, Member& member, const Placement& placement, const Sbps& sbps,
               Device home, const Tensor& local, const std::string& caller) {
  return std::move(assemble_all(issuer, member, placement, sbps, home, {local}, caller).front());
}

}  // namespace ofl::distributed
