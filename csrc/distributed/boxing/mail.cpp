#include "distributed/boxing/mail.h"

#include <algorithm>
#include <utility>

#include "distributed/boxing/peering.h"
#include "distributed/boxing/runs.h"

namespace ofl::distributed {

AxisRanks::AxisRanks(const Placement& placement, int axis, int32_t rank) {
  const int64_t id = placement.parallel_id(rank);
  int64_t stride = 1;
  for (int later = axis + 1; later < placement.grid().size(); ++later) {
    stride *= placement.grid()[later];
  }
  place = id / stride % placement.grid()[axis];
  for (int64_t k = 0; k < placement.grid()[axis]; ++k) {
    ranks.push_back(placement.rank_at(id + (k - place) * stride));
  }
}

Mail::Mail(const Issuer& issuer, Member& member, std::vector<int32_t> ranks, DType dtype,
           Device home)
    : issuer_(issuer),
      member_(member),
      ranks_(std::move(ranks)),
      dtype_(dtype),
      home_(home),
      devices_(connect_devices(issuer, member, ranks_, home)) {}

int Mail::place_of(int32_t rank) const {
  return static_cast<int>(std::find(ranks_.begin(), ranks_.end(), rank) - ranks_.begin());
}

void Mail::send(int32_t rank, const Tensor& x, int64_t by) {
  const bool is_packed = x.device() == device() && lies_in_runs(x, by);
  const Tensor packed = is_packed ? x : to_device(issuer_, contiguous(issuer_, x), device(), false);
  for (const Tensor& run : runs_of(packed, by)) sends_.push_back({place_of(rank), run});
}

Tensor Mail::receive(int32_t rank, const Dims& shape, int64_t by) {
  const Tensor buffer = empty(issuer_, device(), dtype_, shape);
  receive_into(rank, buffer, by);
  return buffer;
}

void Mail::receive_into(int32_t rank, const Tensor& target, int64_t by) {
  for (const Tensor& run : runs_of(target, by)) receives_.push_back({place_of(rank), run});
}

void Mail::deliver(Meaning meaning) {
  meaning.dtype = dtype_;
  if (ranks_.size() == 1) return;
  issue_collective(issuer_, member_, member_.group(ranks_), devices_, meaning, sends_, receives_);
}

}  // namespace ofl::distributed
