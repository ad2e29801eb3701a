// The records of the steps of a program that one thread, or one queue, has run, for an observer:
// the clock is read once for each piece, and the steps are described when somebody reads the
// record.
#pragma once

#include <memory>

#include "graph/planning/schedule.h"

namespace ofl::graph {

/// Of records whose pieces are the steps of a program.
vm::PartTexts texts_of_steps(std::shared_ptr<const Lowered> lowered);
/// Of records whose pieces are those of a segment.
vm::PartTexts texts_of_pieces(std::shared_ptr<const Schedule> schedule);

/// Of a segment.
class StepRecords {
 public:
  /// `pieces`: so many are expected; `begin_ns`: of the first one.
  explicit StepRecords(size_t pieces, int64_t begin_ns = now_ns())
      : times_(std::make_shared<vm::PartTimes>()) {
    times_->begin_ns = begin_ns;
    times_->ends.reserve(pieces);
  }

  /// The piece ran from the end of the one before until now. `member`: one of its calls; -1: all of
  /// them, as one.
  void ran(size_t piece, int member = -1) { add(piece, member, now_ns()); }
  /// The same, until `end_ns`.
  void add(size_t piece, int member, int64_t end_ns) {
    times_->ends.push_back({static_cast<int32_t>(piece), member, end_ns});
  }

  /// `stream`: null for the calling thread; `seq`: of the instruction, or 0; `site`: of the call.
  void tell(vm::Observer& observer, const vm::Stream* stream, vm::Seq seq, int32_t segment,
            vm::SiteId site, std::shared_ptr<const Schedule> schedule) const {
    const vm::PartTexts texts = texts_of_pieces(std::move(schedule));
    const std::shared_ptr<const vm::PartTimes> times = times_;
    observer.ran_parts({stream, seq, segment, nullptr, site, texts, times, times->begin_ns,
                        times->end_ns(), true});
  }

 private:
  const std::shared_ptr<vm::PartTimes> times_;
};

}  // namespace ofl::graph
