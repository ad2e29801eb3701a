#include "distributed/boxing/buckets.h"

#include <algorithm>
#include <utility>

namespace ofl::distributed {

namespace {

using Axes = SmallVector<int, 4>;

/// The axes along which partial values are made whole, if nothing else happens to them.
Axes reduced_axes(const Layout& from, const Layout& to) {
  Axes axes;
  for (const BoxingStep& step : plan_boxing(from, to)) {
    if (step.kind != StepKind::reduce) return {};
    axes.push_back(step.axis);
  }
  return axes;
}

/// Tensors of one bucket have all of this in common.
struct Kind {
  const Placement* placement;
  DType dtype;
  PartialOp op;
  Axes axes;  // in the order of the steps

  bool operator==(const Kind& other) const {
    return placement == other.placement && dtype == other.dtype && op == other.op &&
           axes == other.axes;
  }
};

Kind kind_of(const Change& change) {
  Kind kind{&change.from->placement(), change.part.dtype, PartialOp::sum, {}};
  if (change.part.is_held()) kind.axes = reduced_axes(*change.from, *change.to);
  if (!kind.axes.empty()) kind.op = change.from->sbps()[kind.axes[0]].op;
  return kind;
}

/// A bucket is a tensor of the ranks along the axes, and each step makes it whole along one.
Tensor reduced(const Issuer& issuer, Member& member, const Kind& kind, Device home,
               const Tensor& bucket) {
  Axes sorted = kind.axes;
  std::sort(sorted.begin(), sorted.end());
  const Placement& ranks = kind.placement->along(sorted, member.rank());
  const Sbps partial(sorted.size(), Sbp::partial(kind.op));
  const Layout* at = &Layout::of(bucket.shape, ranks, partial);
  Part part{kind.dtype, bucket};
  for (const int axis : kind.axes) {
    const auto place = std::find(sorted.begin(), sorted.end(), axis) - sorted.begin();
    const Layout& next = at->with(static_cast<int>(place), Sbp::broadcast());
    part = box(issuer, member, *at, next, home, part);
    at = &next;
  }
  return part.tensor;
}

}  // namespace

int64_t bytes_of(const Layout& layout, DType dtype) {
  return layout.box(0).elements() * static_cast<int64_t>(size_of(dtype));
}

std::vector<std::vector<size_t>> buckets_of(const std::vector<BucketItem>& items) {
  struct Open {
    int kind;
    int64_t bytes;
    std::vector<size_t> positions;
  };
  std::vector<std::vector<size_t>> buckets;
  std::vector<Open> open;  // in the order of their first tensors
  for (size_t i = 0; i < items.size(); ++i) {
    const BucketItem& item = items[i];
    if (item.kind < 0 || item.bytes >= kBucketBytes) {
      buckets.push_back({i});
      continue;
    }
    const auto same = std::find_if(open.begin(), open.end(),
                                   [&](const Open& each) { return each.kind == item.kind; });
    if (same == open.end()) {
      open.push_back({item.kind, item.bytes, {i}});
    } else if (same->bytes + item.bytes <= kBucketBytes) {
      same->bytes += item.bytes;
      same->positions.push_back(i);
    } else {
      buckets.push_back(std::move(same->positions));
      open.erase(same);
      open.push_back({item.kind, item.bytes, {i}});
    }
  }
  for (Open& each : open) buckets.push_back(std::move(each.positions));
  return buckets;
}

Tensor packed(const Issuer& issuer, const std::vector<Tensor>& parts) {
  std::vector<Tensor> flat;
  for (const Tensor& part : parts) {
    flat.push_back(*reshape_view(contiguous(issuer, part), Dims{part.size()}));
  }
  return concatenate(issuer, flat, 0);
}

std::vector<Tensor> unpacked(const Tensor& whole, const std::vector<Tensor>& parts) {
  std::vector<Tensor> views;
  Tensor next = whole;
  for (const Tensor& part : parts) {
    next.shape = Dims{part.size()};
    views.push_back(*reshape_view(next, part.shape));
    next.offset += part.size() * whole.strides[0];
  }
  return views;
}

std::vector<Part> box_all(const Issuer& issuer, Member& member,
                          const std::vector<Change>& changes) {
  std::vector<Kind> kinds;
  std::vector<BucketItem> items;
  for (const Change& change : changes) {
    Kind kind = kind_of(change);
    int64_t number = -1;
    if (!kind.axes.empty()) {
      number = std::find(kinds.begin(), kinds.end(), kind) - kinds.begin();
      if (number == static_cast<int64_t>(kinds.size())) kinds.push_back(std::move(kind));
    }
    items.push_back({static_cast<int>(number), bytes_of(*change.from, change.part.dtype)});
  }
  std::vector<Part> results(changes.size());
  for (const std::vector<size_t>& bucket : buckets_of(items)) {
    const Change& first = changes[bucket[0]];
    if (bucket.size() == 1) {
      results[bucket[0]] = box(issuer, member, *first.from, *first.to, first.home, first.part);
      continue;
    }
    std::vector<Tensor> parts;
    for (const size_t i : bucket) parts.push_back(changes[i].part.tensor);
    const Kind& kind = kinds[static_cast<size_t>(items[bucket[0]].kind)];
    const Tensor whole = reduced(issuer, member, kind, first.home, packed(issuer, parts));
    const std::vector<Tensor> views = unpacked(whole, parts);
    for (size_t k = 0; k < bucket.size(); ++k) results[bucket[k]] = {kind.dtype, views[k]};
  }
  return results;
}

}  // namespace ofl::distributed
