// HostPolicy: a stream of the host. The thread that has the baton runs its instructions itself, in
// the order in which they get ready; an instruction is done when it returns.
#pragma once

#include "vm/fusion/gathering.h"
#include "vm/stream.h"

namespace ofl::vm {

class HostPolicy final : public StreamPolicy {
 public:
  HostPolicy(Stream& stream, const Window& window)
      : stream_(stream), grouping_(stream.board(), window) {}
  bool run_next(const Turn& turn) override;
  void run(Slot* slot) override;
  bool poll(bool) override { return false; }
  bool busy() const override { return false; }
  void drain() override {}
  void end_lost(Slot*) override {}  // it runs no code of the user
  Counters counters() const override { return grouping_.counters(); }

 private:
  Stream& stream_;
  Grouping grouping_;
};

}  // namespace ofl::vm
