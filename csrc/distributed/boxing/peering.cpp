#include "distributed/boxing/peering.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "base/error.h"
#include "ep/communicators/peers.h"

namespace ofl::distributed {

namespace {

void (*tell_detour)(const std::string&) = nullptr;

/// Instead of a version: a rank does not want to connect its device, or cannot.
constexpr int64_t kUnwanted = -1, kNothing = 0;

/// A rank tells the others this of its device.
struct Offer {
  int64_t version = kNothing;               // of the library
  uint64_t key = 0;                         // of the device
  char id[ep::PeerLibrary::kIdBytes] = {};  // of the first rank alone
};
constexpr int64_t kWords = sizeof(Offer) / sizeof(int64_t);
static_assert(kWords * sizeof(int64_t) == sizeof(Offer), "it travels as int64");

std::string version_str(int64_t version) {
  return concat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

Offer offer_of(ep::PeerLibrary& library, bool is_first) {
  Offer offer;
  offer.version = library.is_wanted() ? library.version() : kUnwanted;
  if (offer.version <= kNothing) return offer;
  offer.key = library.device_key();
  if (is_first) {
    const std::string id = library.new_id();
    std::copy_n(id.data(), std::min(id.size(), sizeof(offer.id)), offer.id);
  }
  return offer;
}

/// Offers of all ranks, by place.
std::vector<Offer> exchanged(const Issuer& issuer, Member& member,
                             const std::vector<int32_t>& ranks, const Offer& own) {
  const Dims shape{kWords};
  const Tensor mine = from_host(issuer, &own, DType::i64, shape, Device{});
  std::vector<Message> sends, receives;
  std::vector<Tensor> by_place;
  for (size_t place = 0; place < ranks.size(); ++place) {
    const bool is_own = ranks[place] == member.rank();
    by_place.push_back(is_own ? mine : empty(issuer, Device{}, DType::i64, shape));
    if (is_own) continue;
    sends.push_back({static_cast<int>(place), mine});
    receives.push_back({static_cast<int>(place), by_place.back()});
  }
  issue_collective(issuer, member, member.group(ranks), nullptr, {"connect", DType::i64}, sends,
                   receives);
  std::vector<Offer> offers;
  for (const Tensor& each : by_place) {
    issuer.machine.wait_for_value(each.storage->dependence(), "connect");
    std::memcpy(&offers.emplace_back(), each.address(), sizeof(Offer));
  }
  return offers;
}

/// Why they are not connected; empty: they are. The same on all ranks.
std::string obstacle(ep::PeerLibrary& library, const std::vector<int32_t>& ranks,
                     const std::vector<Offer>& offers) {
  std::set<uint64_t> keys;
  for (size_t place = 0; place < ranks.size(); ++place) {
    const Offer& offer = offers[place];
    if (offer.version == kUnwanted) {
      return concat("rank ", ranks[place], " does not want ", library.name());
    }
    if (offer.version == kNothing) {
      return concat("rank ", ranks[place], " has no ", library.name());
    }
    if (offer.version != offers[0].version) {
      return concat("rank ", ranks[0], " has ", library.name(), " ", version_str(offers[0].version),
                    ", rank ", ranks[place], " has ", version_str(offer.version));
    }
    if (!keys.insert(offer.key).second) {
      return concat("rank ", ranks[place], " shares its device with another rank");
    }
  }
  return "";
}

DeviceGroup connected(const Issuer& issuer, Member& member, const std::vector<int32_t>& ranks,
                      Device home, ep::PeerLibrary& library) {
  const auto place = std::find(ranks.begin(), ranks.end(), member.rank()) - ranks.begin();
  const std::vector<Offer> offers = exchanged(issuer, member, ranks, offer_of(library, place == 0));
  DeviceGroup group;
  const std::string found = obstacle(library, ranks, offers);
  if (!found.empty()) {
    group.how = "through the host: " + found;
    group.is_detour = library.is_wanted();
    return group;
  }
  group.how = concat(library.name(), " ", version_str(offers[0].version));
  DeviceQueue& device = member.queue_of(issuer.machine.state(home).device);
  const std::string id(offers[0].id, sizeof(offers[0].id));
  group.peers =
      library.connect(id, static_cast<int>(ranks.size()), static_cast<int>(place), device.queue);
  group.order = device.order;
  group.communicator = ep::make_device_communicator(member.group(ranks)->communicator, group.peers);
  return group;
}

}  // namespace

void set_detour_hook(void (*tell)(const std::string& text)) { tell_detour = tell; }

const DeviceGroup* connect_devices(const Issuer& issuer, Member& member,
                                   const std::vector<int32_t>& ranks, Device home) {
  if (ranks.size() < 2 || home.type == DeviceType::cpu) return nullptr;
  ep::PeerLibrary* const library = issuer.machine.state(home).device.peer_library();
  if (!library) return nullptr;
  auto& known = member.group(ranks)->devices;
  auto found = known.find(home.type);
  if (found == known.end()) {
    found = known.emplace(home.type, connected(issuer, member, ranks, home, *library)).first;
    const DeviceGroup& made = found->second;
    if (made.is_detour && tell_detour && member.rank() == ranks[0]) {
      tell_detour(concat("[distributed] what ranks send each other of tensors on ", home.str(),
                         " goes ", made.how));
    }
  }
  return found->second.communicator ? &found->second : nullptr;
}

}  // namespace ofl::distributed
