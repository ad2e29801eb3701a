// Mail: what one rank sends and receives in one collective. Devices of the ranks exchange it, where
// they are connected; else tensors of a device that is not the host go through the host's memory.
#pragma once

#include <vector>

#include "distributed/world/collective.h"

namespace ofl::distributed {

/// The ranks along one axis of the grid that a rank is among, and its place there.
struct AxisRanks {
  AxisRanks(const Placement& placement, int axis, int32_t rank);

  std::vector<int32_t> ranks;
  int64_t place;
};

class Mail {
 public:
  /// Between these ranks, among them the member's. `home`: its device.
  Mail(const Issuer& issuer, Member& member, std::vector<int32_t> ranks, DType dtype, Device home);

  /// The device of what is sent and received: the member's, or the host.
  Device device() const { return devices_ ? home_ : Device{}; }
  void send(int32_t rank, const Tensor& x) { send(rank, x, x.size()); }
  /// By so many elements a message, which the receiver expects.
  void send(int32_t rank, const Tensor& x, int64_t by);
  /// A tensor of device() that gets it; arrived() once it is delivered.
  Tensor receive(int32_t rank, const Dims& shape) {
    return receive(rank, shape, element_count(shape));
  }
  Tensor receive(int32_t rank, const Dims& shape, int64_t by);
  /// Receives into `target`, a tensor on device(), which lies_in_runs() of `by` elements.
  void receive_into(int32_t rank, const Tensor& target) {
    receive_into(rank, target, target.size());
  }
  void receive_into(int32_t rank, const Tensor& target, int64_t by);
  /// A received tensor on the member's device.
  Tensor arrived(const Tensor& x) const { return to_device(issuer_, x, home_, false); }
  /// Issues the collective. With one rank there is none.
  void deliver(Meaning meaning);

 private:
  int place_of(int32_t rank) const;

  const Issuer& issuer_;
  Member& member_;
  const std::vector<int32_t> ranks_;
  const DType dtype_;
  const Device home_;
  const DeviceGroup* const devices_;  // null: through the host
  std::vector<Message> sends_, receives_;
};

}  // namespace ofl::distributed
