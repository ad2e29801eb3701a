// Ranks whose bytes move between their devices. The check of a collective goes through the host;
// once all ranks mean the same, and none has failed, the devices exchange the bytes.
//
//   posted ──► checked through the host ──► its turn ──► exchanged by the devices ──► over
//                         └──────────────────────────────► over: failed, differs, aborted
//
// The exchanges of a rank's device are enqueued in the order in which its program has issued them,
// whatever groups they are of: on two ranks in another order, queues of devices could wait for each
// other. An exchange waits for those before it to be enqueued or to be over, and all that they wait
// for was issued before them; the first one of all waits for nothing. So ranks never wait for each
// other in a circle.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

#include "ep/communicators/communicator.h"
#include "ep/communicators/peers.h"

namespace ofl::ep {

/// The exchanges of one device that are issued and not enqueued.
class ExchangeOrder : public std::enable_shared_from_this<ExchangeOrder> {
 public:
  /// The next one, behind all others.
  std::shared_ptr<Turn> enter();

 private:
  friend class ExchangeTurn;

  std::mutex mutex_;  // guards the rest
  std::set<uint64_t> waiting_;
  uint64_t next_ = 0;
};

/// `checks` and `peers` have the same ranks. Transfers are memory of the device, and each
/// collective has a turn.
std::unique_ptr<Communicator> make_device_communicator(std::shared_ptr<Communicator> checks,
                                                       std::shared_ptr<Peers> peers);

}  // namespace ofl::ep
