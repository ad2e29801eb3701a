// Peers: how devices of different ranks reach each other's memory, where a library lets them (NCCL
// on cuda). One thread at a time calls what follows. Failures are thrown as ofl::Error.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ep/communicators/communicator.h"

namespace ofl::ep {

class Stream;

/// Bytes on their way between this rank's device and others.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// Gets on with it, without waiting; true: this rank's part of it is over.
  virtual bool test() = 0;
  /// It has its place in the queue of the device.
  virtual bool is_enqueued() const = 0;
};

/// One rank's end of a group whose devices are connected. Peers are places in the group.
class Peers {
 public:
  virtual ~Peers() = default;
  /// All ranks of the group begin the same exchanges in the same order, and each when the one
  /// before is enqueued, or has failed. Both ends list the transfers between two ranks in the same
  /// order. Memory stays as it is until it is over.
  virtual std::unique_ptr<Exchange> begin(const std::vector<Transfer>& sends,
                                          const std::vector<Transfer>& receives) = 0;
  /// Ends what is in flight on this rank. When it returns, nothing of this rank moves any more.
  virtual void abort() = 0;
  /// Nothing is in flight: tells the others that this rank goes, and waits for them for a while.
  virtual void leave() = 0;
};

/// A library that connects devices of one type, as one device of this rank sees it.
class PeerLibrary {
 public:
  virtual ~PeerLibrary() = default;
  virtual const char* name() = 0;
  /// As its makers write it, 10000 * major + 100 * minor + patch; 0: it is not there. Ranks with
  /// different ones are not connected.
  virtual int version() = 0;
  /// False: it is not to be used, whether or not it is there.
  virtual bool is_wanted() = 0;
  /// A number of this device; no other device of any machine has the same.
  virtual uint64_t device_key() = 0;
  /// One rank of a group makes it, and all of them connect with it.
  static constexpr size_t kIdBytes = 128;
  virtual std::string new_id() = 0;
  /// Does not wait for the others. Exchanges are enqueued in this queue of the device.
  virtual std::unique_ptr<Peers> connect(const std::string& id, int size, int place,
                                         std::shared_ptr<Stream> queue) = 0;
};

}  // namespace ofl::ep
