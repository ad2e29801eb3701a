#include "vm/host_policy.h"

#include "vm/board/running_scope.h"

namespace ofl::vm {

bool HostPolicy::run_next(const Turn& turn) {
  Slot* slot = stream_.take_next(turn.max_cost);
  if (!slot) return false;
  if (std::unique_ptr<Group> group = grouping_.begin(slot)) {
    Gathering gathering(stream_, grouping_, std::move(group), slot, turn.last);
    const Gathering::Outcome outcome = gathering.run(turn);
    if (outcome != Gathering::Outcome::alone) return outcome == Gathering::Outcome::ran;
  }
  run(slot);
  return true;
}

void HostPolicy::run(Slot* slot) {
  Observer* observer = stream_.board().observer();
  const int64_t begin = observer ? now_ns() : 0;
  FailurePtr failure = slot->failure ? slot->failure : slot->given_failure();
  if (!failure) {
    RunningScope running(*slot);
    LaunchContext context{stream_.queue(), stream_, *slot};
    failure = attempt(slot, [&] { slot->header.type->launch(slot->body, context); });
  }
  if (observer) observer->ran(slot->header, slot->name(), slot->describe(), true, begin, now_ns());
  stream_.retire(slot, failure);
}

}  // namespace ofl::vm
