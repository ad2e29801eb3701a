// Units of a program: steps that run by themselves, and steps that run as one, as the machine would
// group them if they were issued one after the other (vm/fusion/gathering.h): tile by tile on the
// host, as one kernel of the device's own on a device that has some. On the host many steps are
// grouped where the machine, which does not know how many there will be, would group none.
//
//   steps:  a*2   m@w   +b   tanh   sum   copy to a device
//   units: [a*2         +b   tanh   sum]  [m@w]  [copy]         when + does not need m@w
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "graph/planning/lowered.h"
#include "ops/cuda/fusion/prepared.h"
#include "ops/fusion/plan.h"
#include "ops/pieces.h"

namespace ofl::graph {

/// In the place of a base: the scalars that a run is given. A plan of the host is made once, so it
/// reads them as operands in memory.
inline constexpr int32_t kScalarsBase = -2;

/// Of a group on the host whose steps are too small to begin one of their own: threads share it.
inline constexpr double kLeastGroupedWork = ops::kSplitWork;

/// A compute lane of a device.
struct ComputeLane {
  vm::DeviceState* state = nullptr;  // null: none
  int number = kCallersLane;

  explicit operator bool() const { return state != nullptr; }
  bool operator==(const ComputeLane& other) const {
    return state == other.state && number == other.number;
  }
};

struct Unit {
  std::vector<int64_t> steps;  // in the order of the program
  double cost = 0;             // in float32 additions
  int lane = kCallersLane;     // the compute lane of its device
  /// Of several steps, on the host; null: one step.
  std::unique_ptr<const ops::FusionPlan> plan;
  /// The same on a device that has kernels of its own.
  std::unique_ptr<const ops::cuda::PreparedGroup> prepared;
  std::vector<int64_t> bases;   // what the base numbers of either stand for, or kScalarsBase
  std::vector<int64_t> unseen;  // those that are in tiles or in registers alone
  std::vector<std::pair<int64_t, int64_t>> over;  // (base, one over which it may lie) of a plan

  bool is_group() const { return steps.size() > 1; }
};

/// Of results that are in tiles or in registers alone.
uint64_t saved_bytes(const Lowered& lowered, const Unit& unit);

/// The lane that the unit runs on; none: it is no kernel, and issued by itself.
ComputeLane lane_of(const Lowered& lowered, const Unit& unit);

/// function(base, is_written) for each operand of the unit that is in memory.
template <typename Function>
void for_each_base(const Lowered& lowered, const Unit& unit, const Function& function) {
  for (const int64_t i : unit.steps) {
    const Step& step = lowered.steps[i];
    for (size_t k = 0; k < step.operands.size(); ++k) {
      if (step.operands[k].base >= 0) function(step.operands[k].base, step.writes[k]);
    }
  }
}

/// All steps, in an order that gives the results of the program's. The plans refer to `lowered`.
std::vector<Unit> form_units(const Lowered& lowered, const vm::Options& options);

/// Of each operation, the number of the last unit of several steps that it has a step in, or -1.
std::vector<int64_t> unit_of_operations(const Lowered& lowered, const vm::Options& options,
                                        int64_t operations);

}  // namespace ofl::graph
