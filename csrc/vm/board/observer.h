// Observer: the one hook by which profiler, checker and tests see the machine. Issuing threads and
// workers call it, several at a time. It must not issue instructions and must not throw.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "vm/instruction.h"

namespace ofl::vm {

/// An operation that has run as a part of a larger instruction.
struct Part {
  const char* name;  // outlives the machine
  SiteId site;
  uint64_t bytes;  // of its results
  /// `group`: it ran as one with the part of this number, and numbers begin at 1; 0: it ran alone.
  Description description;
  int64_t begin_ns, end_ns;
};

/// The parts of one instruction that one thread, or one queue, has run.
struct Parts {
  const Stream* stream;  // null: they ran in the calling thread
  Seq seq;               // of the instruction; 0: there was none
  int32_t segment;       // its number in the program; -1: it is the whole program
  const std::vector<Part>& parts;
};

class Observer {
 public:
  virtual ~Observer() = default;

  /// The calling thread has issued it; [begin, end) is the time spent in issue().
  virtual void issued(const Instruction&, Seq, const Description&, int64_t /*begin_ns*/,
                      int64_t /*end_ns*/) {}
  /// It has run: on its stream (`on_stream`), or in the calling thread.
  virtual void ran(const Instruction&, Seq, const Description&, bool /*on_stream*/,
                   int64_t /*begin_ns*/, int64_t /*end_ns*/) {}
  /// Parts of an instruction have run, in this order; the instruction itself is told of, too.
  virtual void ran_parts(const Parts&) {}
  /// The queue of `stream` waits for an event of `other`, so that `seq` runs after `other_seq`.
  virtual void waited(const Stream& /*stream*/, Seq /*seq*/, const Stream& /*other*/,
                      Seq /*other_seq*/) {}
  /// A host thread has waited.
  virtual void synced(const char* /*reason*/, int64_t /*begin_ns*/, int64_t /*end_ns*/) {}
  /// The layer above checks the results of what is issued meanwhile.
  virtual bool checks_results() const { return false; }
};

}  // namespace ofl::vm
