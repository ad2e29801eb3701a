#include "vm/host_policy.h"

namespace ofl::vm {

namespace {
thread_local RunningScope* innermost_running = nullptr;
}

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
    RunningScope running(slot->name(), stream_);
    LaunchContext context{stream_.queue(), stream_, *slot};
    failure = attempt(slot, [&] { slot->header.type->launch(slot->body, context); });
  }
  if (observer) observer->ran(slot->header, slot->name(), slot->describe(), true, begin, now_ns());
  stream_.retire(slot, failure);
}

RunningScope::RunningScope(Seq seq, Stream& stream)
    : seq_(seq), stream_(stream), outer_(innermost_running) {
  innermost_running = this;
}

RunningScope::~RunningScope() { innermost_running = outer_; }

bool RunningScope::contains(Seq seq) {
  for (RunningScope* scope = innermost_running; scope; scope = scope->outer_) {
    if (scope->seq_ == seq) return true;
  }
  return false;
}

bool RunningScope::any() { return innermost_running != nullptr; }

Stream* RunningScope::stream() { return &innermost_running->stream_; }

}  // namespace ofl::vm
