#include "distributed/boxing/tree_sum.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "distributed/boxing/operators.h"
#include "distributed/boxing/told.h"

namespace ofl::distributed {

namespace {

constexpr const char* kName = "tree_sum";

int64_t power_of_two_from(int64_t n) {
  int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

/// Rank k has the positions from k * count on, as long as there are some.
std::vector<Range> in_parts_of(int64_t count, int64_t total, size_t ranks) {
  std::vector<Range> ranges;
  for (size_t k = 0; k < ranks; ++k) {
    const int64_t start = std::min(static_cast<int64_t>(k) * count, total);
    ranges.push_back({start, std::min(count, total - start)});
  }
  return ranges;
}

bool are_equal(const std::vector<Range>& a, const std::vector<Range>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Range& x, const Range& y) {
    return x.start == y.start && x.extent == y.extent;
  });
}

/// Ranges in which each rank's own tree is a part of the whole tree, and the tree of the ranks is
/// the rest of it: those that are there, if they are such, else such with the fewest blocks a rank.
std::vector<Range> in_whole_trees(const std::vector<Range>& ranges) {
  int64_t total = 0, most = 0;
  for (const Range& range : ranges) {
    total += range.extent;
    most = std::max(most, range.extent);
  }
  const std::vector<Range> near = in_parts_of(power_of_two_from(most), total, ranges.size());
  if (are_equal(near, ranges)) return near;
  const auto ranks = static_cast<int64_t>(ranges.size());
  return in_parts_of(power_of_two_from((total + ranks - 1) / ranks), total, ranges.size());
}

/// Blocks go to the ranks that add them.
std::vector<Tensor> moved_blocks(const Issuer& issuer, Member& member, const Placement& row,
                                 const std::vector<Range>& before, const std::vector<Range>& after,
                                 DType dtype, const Dims& shape, Device home,
                                 const std::vector<Tensor>& own) {
  const int64_t size = element_count(shape);
  const int64_t total = before.back().start + before.back().extent;
  std::vector<Tensor> rows;
  for (const Tensor& block : own) {
    rows.push_back(*reshape_view(contiguous(issuer, block), Dims{1, size}));
  }
  const Tensor local =
      rows.empty() ? empty(issuer, home, dtype, Dims{0, size}) : concatenate(issuer, rows, 0);
  const Layout& layout = Layout::of(Dims{total, size}, row, {Sbp::split(0)});
  const Tensor got = moved(issuer, member, layout, 0, before, after, home, local);
  std::vector<Tensor> blocks;
  Tensor next = got;
  next.shape = Dims{1, size};
  for (int64_t k = 0; k < got.shape[0]; ++k) {
    blocks.push_back(*reshape_view(next, shape));
    next.offset += got.strides[0];
  }
  return blocks;
}

/// A rank tells the number of its blocks, then the shape of one. A negative number says that its
/// blocks differ.
Told about(const std::vector<Tensor>& own) {
  if (own.empty()) return {DType::f64, Dims{0}};
  Told told{own[0].dtype, Dims{static_cast<int64_t>(own.size())}};
  for (const int64_t extent : own[0].shape) told.shape.push_back(extent);
  for (const Tensor& block : own) {
    if (block.dtype != told.dtype || block.shape != own[0].shape) told.shape[0] = -1;
  }
  return told;
}

/// The shape and dtype of a block, of what a rank has told.
Told block_of(const Told& told) {
  Told block{told.dtype, {}};
  for (int d = 1; d < told.shape.size(); ++d) block.shape.push_back(told.shape[d]);
  return block;
}

/// The shape and dtype that all blocks have; Error(value) where they differ, or there is none.
Told common_block(const Placement& placement, const std::vector<Told>& told) {
  std::optional<Told> first;
  int32_t rank_of_first = 0;
  for (int64_t id = 0; id < placement.size(); ++id) {
    const Told& each = told[static_cast<size_t>(id)];
    const int32_t rank = placement.rank_at(id);
    if (each.shape[0] == 0) continue;
    if (each.shape[0] < 0) {
      fail(ErrorKind::value, "[", kName, "] rank ", rank, " has blocks of two shapes or dtypes; ",
           "all blocks have one shape and one dtype");
    }
    const Told block = block_of(each);
    if (!first) {
      first = block;
      rank_of_first = rank;
    } else if (!(block == *first)) {
      fail(ErrorKind::value, "[", kName, "] rank ", rank_of_first, " has blocks of ", first->str(),
           ", rank ", rank, " of ", block.str(), "; all blocks have one shape and one dtype");
    }
  }
  if (!first) {
    fail(ErrorKind::value, "[", kName, "] expected a block on at least one rank, got none");
  }
  return *first;
}

}  // namespace

Tensor tree_sum(const Issuer& issuer, Member& member, const Placement& row,
                const std::vector<Range>& ranges, DType dtype, const Dims& shape, Device home,
                std::vector<Tensor> own) {
  for (Tensor& block : own) block = to_device(issuer, block, home, false);
  const std::vector<Range> after = in_whole_trees(ranges);
  if (!are_equal(after, ranges)) {
    own = moved_blocks(issuer, member, row, ranges, after, dtype, shape, home, own);
  }
  const Tensor sum = own.empty() ? full(issuer, home, dtype, shape, neutral(PartialOp::sum, dtype))
                                 : combine_tree(issuer, PartialOp::sum, std::move(own));
  const Layout& partial = Layout::of(shape, row, {Sbp::partial(PartialOp::sum)});
  return box(issuer, member, partial, partial.with(0, Sbp::broadcast()), home, {dtype, sum}).tensor;
}

Whole tree_sum(const Issuer& issuer, Member& member, const Placement& placement, Device home,
               std::vector<Tensor> own) {
  member.require_in_world(placement);
  const Told about_own = about(own);
  const auto text = [about_own, count = own.size(), &placement] {
    const std::string blocks =
        count ? concat(count, count == 1 ? " block" : " blocks", " of ", block_of(about_own).str())
              : "no blocks";
    return concat(kName, " of ", blocks, " on ", placement.str());
  };
  const std::vector<Told> told =
      tell(issuer, member, kName, placement, 0, {about_own}, text).front();
  const Told block = common_block(placement, told);
  std::vector<Range> ranges;
  std::vector<int32_t> ranks;
  for (int64_t id = 0; id < placement.size(); ++id) {
    const int64_t start = id ? ranges.back().start + ranges.back().extent : 0;
    ranges.push_back({start, told[static_cast<size_t>(id)].shape[0]});
    ranks.push_back(placement.rank_at(id));
  }
  const Sbps sbps(placement.grid().size(), Sbp::broadcast());
  Whole whole{&Layout::of(block.shape, placement, sbps), {block.dtype, {}}};
  if (placement.parallel_id(member.rank()) < 0) return whole;
  const Placement& row = Placement::of(placement.type(), Dims{placement.size()}, std::move(ranks));
  whole.part.tensor =
      tree_sum(issuer, member, row, ranges, block.dtype, block.shape, home, std::move(own));
  return whole;
}

}  // namespace ofl::distributed
