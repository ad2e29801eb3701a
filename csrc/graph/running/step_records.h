// The records of the steps of a program that one thread, or one queue, has run, for an observer.
#pragma once

#include <vector>

#include "graph/planning/schedule.h"

namespace ofl::graph {

class StepRecords {
 public:
  /// `site`: of steps that have none; `begin_ns`: of the first one.
  explicit StepRecords(vm::SiteId site, int64_t begin_ns = now_ns())
      : site_(site), latest_(begin_ns) {}

  /// It ran from the end of the one before until now.
  void ran(const Step& step) { add(step, now_ns()); }
  void ran(const Lowered& lowered, const Piece& piece) { add(lowered, piece, now_ns()); }
  /// The same, until `end_ns`.
  void add(const Step& step, int64_t end_ns);
  void add(const Lowered& lowered, const Piece& piece, int64_t end_ns);

  /// `stream`: null for the calling thread; `seq`: of the instruction, or 0; `segment`: -1 for a
  /// whole program.
  void tell(vm::Observer& observer, const vm::Stream* stream, vm::Seq seq, int32_t segment) const {
    observer.ran_parts({stream, seq, segment, parts_});
  }

 private:
  void append(const Step& step, int64_t end_ns);

  const vm::SiteId site_;
  int64_t latest_;  // where the next one begins
  std::vector<vm::Part> parts_;
};

}  // namespace ofl::graph
