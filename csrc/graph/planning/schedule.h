// Schedule: a program cut into segments, each of which is one instruction of the machine.
//
//   units of one lane, in order ──► segment ──► an instruction on its compute stream
//   copies between devices      ──► each an instruction of its own
//
// A segment ends before its lane waits for another one, after what another lane waits for (or a
// little later), after a result that somebody may look at, and when it has much work. So the
// machine sees as much as it sees in eager, and overlaps as much.
#pragma once

#include <memory>
#include <vector>

#include "graph/planning/layout.h"
#include "graph/planning/unit_order.h"

namespace ofl::graph {

/// A step in a segment: its operands by the segment's own numbers of bases.
struct Call {
  const Step* step;
  std::vector<int32_t> bases;  // of each operand; -1: a scalar
};

/// A unit in a segment.
struct Piece {
  const Unit* unit;
  int32_t first_call;  // the number of its first call in the segment
  std::vector<Call> calls;
  std::vector<int32_t> bases;  // of the unit's group, or kScalarsBase
};

struct Segment {
  /// Of a base, by the segment's number.
  struct Local {
    int64_t base;
    int32_t memory;  // the segment's number of it; -1: in tiles or in registers alone
    int64_t offset;
  };
  struct Use {
    int64_t memory;  // of the run
    bool is_written;
    bool is_last;  // no later segment uses it
  };

  ComputeLane lane;  // null: one step, issued by itself
  std::vector<Piece> pieces;
  int32_t call_count = 0;
  std::vector<Local> bases;
  std::vector<Use> memories;
  double cost = 0;
  size_t new_bytes = 0;  // memory that it may allocate on a device
  bool has_groups = false;
  /// Pieces that need nothing of each other, by their numbers: threads may share them.
  std::vector<std::vector<int32_t>> strands;

  const Step& first() const { return *pieces[0].calls[0].step; }
};

struct ScheduleOptions {
  Release release = Release::plan;
  bool is_parallel = false;  // strands of a segment share no bytes that one of them writes
  int lanes = 1;             // independent units are divided between so many lanes of a device
};

struct Schedule {
  Schedule(std::shared_ptr<const Lowered> lowered, const vm::Options& options,
           const ScheduleOptions& how);

  const std::shared_ptr<const Lowered> lowered;
  const Release release;
  const std::vector<Unit> units;
  const UnitOrder order;
  const Layout layout;
  std::vector<Segment> segments;
};

}  // namespace ofl::graph
