#include "distributed/boxing/told.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "distributed/boxing/mail.h"

namespace ofl::distributed {

namespace {

/// Of a tensor: its dtype, the number of its dimensions, and their extents; of blocks, one more.
constexpr int kWords = 2 + kMaxDims + 1;

void write(const Told& told, int64_t* words) {
  words[0] = static_cast<int64_t>(told.dtype);
  words[1] = told.shape.size();
  std::copy(told.shape.begin(), told.shape.end(), words + 2);
}

Told read(const int64_t* words) {
  Told told{static_cast<DType>(words[0]), {}};
  for (int64_t d = 0; d < words[1]; ++d) told.shape.push_back(words[2 + d]);
  return told;
}

}  // namespace

std::string Told::str() const { return concat(name_of(dtype), " ", shape_str(shape)); }

std::vector<std::vector<Told>> tell(const Issuer& issuer, Member& member, const char* name,
                                    const Placement& placement, uint64_t more,
                                    const std::vector<Told>& own,
                                    std::function<std::string()> text) {
  std::vector<int32_t> all(static_cast<size_t>(member.size()));
  std::iota(all.begin(), all.end(), 0);
  Mail mail(issuer, member, all, DType::i64, Device{});
  std::vector<int64_t> words(own.size() * kWords);
  for (size_t i = 0; i < own.size(); ++i) write(own[i], words.data() + i * kWords);
  const Dims shape{static_cast<int64_t>(words.size())};
  const Tensor mine = from_host(issuer, words.data(), DType::i64, shape, Device{});
  const int64_t id = placement.parallel_id(member.rank());
  for (const int32_t rank : all) {
    if (rank != member.rank() && id >= 0) mail.send(rank, mine);
  }
  std::vector<Tensor> by_place;
  for (int64_t place = 0; place < placement.size(); ++place) {
    const int32_t rank = placement.rank_at(place);
    by_place.push_back(place == id ? mine : mail.receive(rank, shape));
  }
  // Its layout says how many tensors there are, should ranks differ in that.
  const Sbps sbps(placement.grid().size(), Sbp::broadcast());
  const Layout& listed = Layout::of(Dims{static_cast<int64_t>(own.size())}, placement, sbps);
  mail.deliver({name, DType::i64, nullptr, &listed, more, std::move(text)});
  std::vector<std::vector<Told>> told(own.size());
  for (const Tensor& each : by_place) {
    issuer.machine.wait_for_value(each.storage->dependence(), name);
    const auto* of_rank = reinterpret_cast<const int64_t*>(each.address());
    for (size_t i = 0; i < own.size(); ++i) told[i].push_back(read(of_rank + i * kWords));
  }
  return told;
}

}  // namespace ofl::distributed
