#include "vm/links/milestone.h"

#include "vm/stream.h"

namespace ofl::vm {

namespace {

/// The successor uses a result of the predecessor, which ends on the host. Its results are new
/// objects, which are joined to others only after its end, so slots name them alike.
bool uses_result(const Slot& predecessor, const Slot& successor) {
  for (const Operand& written : predecessor.operands) {
    if (written.access != Access::write) continue;
    for (const Operand& used : successor.operands) {
      if (used.object == written.object) return true;
    }
  }
  return false;
}

/// They share an object that code of the user uses in the host's memory. Queues must have done with
/// it before that code is called. They must have run what the code has enqueued before others use
/// it.
bool meet_on_host(const Slot& predecessor, const Slot& successor) {
  if (!predecessor.header.type->calls_out && !successor.header.type->calls_out) return false;
  for (const Operand& first : predecessor.operands) {
    for (const Operand& second : successor.operands) {
      if (first.object == second.object && (first.by_host || second.by_host)) return true;
    }
  }
  return false;
}

}  // namespace

Milestone required_milestone(const Slot& predecessor, const Slot& successor) {
  const Stream &first = *predecessor.header.stream, &second = *successor.header.stream;
  if (meet_on_host(predecessor, successor)) return Milestone::done;
  if (&first == &second && second.in_order()) return Milestone::dispatched;
  if (&first.device() == &second.device() && first.in_order() && second.in_order() &&
      !(predecessor.header.type->ends_on_host && uses_result(predecessor, successor))) {
    return Milestone::launched;
  }
  return Milestone::done;
}

}  // namespace ofl::vm
