// Where the bases of a program are while it runs: in tensors that it is given, in memories of their
// own, or in one memory for the temporaries of a device.
//
//   base ──► home: a memory of the run, and bytes from its start
//
// A temporary that only one lane uses lies in the arena of that lane, or, until a result is
// written, in the memory of that result. A temporary that copies use has a memory of its own, which
// is let go after its last use. One that several lanes use may have the memory of an earlier one
// (crossing.h).
#pragma once

#include <string>
#include <vector>

#include "graph/memory/offsets.h"
#include "graph/memory/reason.h"
#include "graph/planning/unit_order.h"
#include "graph/planning/units.h"

namespace ofl::graph {

/// How temporaries are let go.
enum class Release : uint8_t {
  plan,   // they share bytes, by a plan
  fast,   // each by itself, in the order of the queue
  event,  // each by itself, when its last users have run
};
inline constexpr const char* kReleaseNames[] = {"plan", "fast", "event"};
inline constexpr int kReleases = sizeof(kReleaseNames) / sizeof(kReleaseNames[0]);

struct Home {
  int64_t memory = -1;  // -1: it is never in memory
  int64_t offset = 0;
};

/// A storage of a run; those of the inputs come first.
struct RunMemory {
  vm::DeviceState* state;
  size_t bytes;
  bool is_result;
  bool is_arena = false;
  bool is_shared = false;    // by bases that are not in use at the same time
  bool is_crossing = false;  // these are bases that several lanes use
};

/// Whether a base lies over another one, and why not.
struct InPlaceNote {
  int64_t unit, operand, result;  // bases
  Reason reason;
};

/// The plan for the temporaries of one lane.
struct ArenaPlan {
  ComputeLane lane;
  int64_t memory;  // of the run; -1: it has no bytes
  int64_t bytes, bound;
  std::string name;  // of the candidate that won
  std::vector<Candidate> tried;
};

struct Layout {
  std::vector<Home> homes;  // of each base
  std::vector<RunMemory> memories;
  std::vector<bool> is_crossing;  // of each base: more than one lane uses it
  std::vector<ArenaPlan> arenas;
  std::vector<InPlaceNote> in_place;

  int64_t arena_bytes() const {
    int64_t bytes = 0;
    for (const ArenaPlan& arena : arenas) bytes += arena.bytes;
    return bytes;
  }
};

/// `times`: of each unit; those of one time may run in any order. Empty: they run one by one.
Layout lay_out(const Lowered& lowered, const std::vector<Unit>& units, const UnitOrder& order,
               Release release, const std::vector<int64_t>& times);

}  // namespace ofl::graph
