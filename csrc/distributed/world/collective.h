// A collective as an instruction: tensors go from rank to rank, on the host's ccl stream.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "distributed/layouts/plan.h"
#include "distributed/world/member.h"
#include "tensor/issue.h"

namespace ofl::distributed {

/// All elements of a row-major tensor, to or from a place of the group.
struct Message {
  int peer;
  Tensor tensor;
};

/// What a collective is: the same on all ranks of its group. Layouts may be null.
struct Meaning {
  const char* name;  // outlives the machine
  DType dtype;
  const Layout* from = nullptr;
  const Layout* to = nullptr;
  uint64_t more = 0;  // a hash of what else has to be the same
  /// The words of this rank for it; null: those of its dtype and layouts. Any thread.
  std::function<std::string()> words = nullptr;

  /// "gather of float32 (1000, 4): split(0) on cpu [0, 1] to broadcast on cpu [0, 1]".
  std::string str() const;
};

/// Issues it. `devices`: of the group, whose ranks' devices exchange the tensors; null: they are of
/// the host. Receives have their memory already. Messages of no bytes are left out, on both
/// sides; a rank without any takes part all the same.
void issue_collective(const Issuer& issuer, Member& member, const std::shared_ptr<Group>& group,
                      const DeviceGroup* devices, const Meaning& meaning,
                      const std::vector<Message>& sends, const std::vector<Message>& receives);

/// For traces: which of a rank's collectives an instruction is.
struct IssuedCollective {
  vm::Seq seq;
  int32_t rank;
  uint64_t group;   // a key, which is the same on all ranks of the group
  uint64_t number;  // in the group
};
/// Any thread: what is issued from now on is kept until it is taken, or is not.
void record_collectives(bool on);
std::vector<IssuedCollective> take_collectives();

}  // namespace ofl::distributed
