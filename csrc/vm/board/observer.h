// Observer: the one hook by which profiler, checker and tests see the machine. Issuing threads and
// workers call it, several at a time. It must not issue instructions and must not throw.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "vm/instruction.h"

namespace ofl::vm {

/// An operation of a program, as a part of a run.
struct Part {
  const char* name;  // outlives the machine
  SiteId site;       // 0: it has none of its own
  uint64_t bytes;    // of its results
  Description description;
};

/// What is needed to read a record of the parts of a run: nothing is described before.
struct PartTexts {
  std::shared_ptr<const void> program;
  /// Appends the parts of piece `number`, which ran as one; `member`: only this one of them.
  void (*append)(const void* program, int32_t segment, int32_t number, int32_t member,
                 std::vector<Part>* parts);
};

/// When the pieces of a run ended, each of which began at the end of the one before.
struct PartTimes {
  struct End {
    int32_t number;
    int32_t member;  // -1: all of them, as one
    int64_t ns;
  };
  int64_t begin_ns;
  std::vector<End> ends;

  int64_t end_ns() const { return ends.empty() ? begin_ns : ends.back().ns; }
};

/// The parts of one instruction that one thread, or one queue, has run.
struct Parts {
  const Stream* stream;  // null: they ran in the calling thread
  Seq seq;               // of the instruction; 0: there was none
  int32_t segment;       // its number in the program; -1: it is the whole program
  const char* name;      // of a run that nothing else tells of; null: ran() does
  SiteId site;           // of the call
  const PartTexts& texts;
  const std::shared_ptr<const PartTimes>& times;
  int64_t begin_ns, end_ns;
  /// These are its own times; else those of another run, which took another while for all.
  bool is_measured;
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
  /// Parts of an instruction, or of a run without one, have run.
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
