// Observer: the one hook by which profiler, checker and tests see the machine. Issuing threads and
// workers call it, several at a time. It must not issue instructions and must not throw.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "vm/instruction.h"

namespace ofl::vm {

class Observer {
 public:
  virtual ~Observer() = default;

  /// The calling thread has issued it; [begin, end) is the time spent in issue().
  virtual void issued(const Instruction&, Seq, const Description&, int64_t /*begin_ns*/,
                      int64_t /*end_ns*/) {}
  /// It has run: on its stream (`on_stream`), or in the calling thread.
  virtual void ran(const Instruction&, Seq, const Description&, bool /*on_stream*/,
                   int64_t /*begin_ns*/, int64_t /*end_ns*/) {}
  /// The queue of `stream` waits for an event of `other`, so that `seq` runs after `other_seq`.
  virtual void waited(const Stream& /*stream*/, Seq /*seq*/, const Stream& /*other*/,
                      Seq /*other_seq*/) {}
  /// A host thread has waited.
  virtual void synced(const char* /*reason*/, int64_t /*begin_ns*/, int64_t /*end_ns*/) {}
  /// The layer above checks the results of what is issued meanwhile.
  virtual bool checks_results() const { return false; }
};

}  // namespace ofl::vm
