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
  Counters counters() const override { return grouping_.counters(); }

 private:
  Stream& stream_;
  Grouping grouping_;
};

/// While it lives, the calling thread runs this instruction of a host stream with the stream's
/// baton. A host function may issue and look; it must not wait for itself.
class RunningScope {
 public:
  RunningScope(Seq seq, Stream& stream);
  ~RunningScope();
  RunningScope(const RunningScope&) = delete;
  static bool contains(Seq seq);
  static bool any();
  /// The stream of the innermost scope; there is one.
  static Stream* stream();

 private:
  const Seq seq_;
  Stream& stream_;
  RunningScope* const outer_;
};

}  // namespace ofl::vm
