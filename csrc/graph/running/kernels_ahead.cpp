#include "graph/running/kernels_ahead.h"

#include <algorithm>

#include "graph/running/steps/step_args.h"
#include "ops/cuda/foresight.h"

namespace ofl::graph {

namespace {

void make_kernels_soon(const Piece& piece, ep::Device& device) {
  if (piece.unit->prepared) return piece.unit->prepared->make_kernel_soon(device);
  const Step& step = *piece.calls[0].step;
  if (step.loops) ops::cuda::foresee(device, kernel_call(step, step.loops->args, device));
  if (step.arrays) ops::cuda::foresee(device, kernel_call(step, array_args(step, {}), device));
}

}  // namespace

bool wants_kernels(const Lowered& lowered) {
  return std::any_of(lowered.bases.begin(), lowered.bases.end(),
                     [](const Base& base) { return ops::uses_own_kernels(base.state->device); });
}

void make_kernels_soon(const Schedule& schedule) {
  for (const Segment& segment : schedule.segments) {
    if (!segment.lane || !ops::uses_own_kernels(segment.lane.state->device)) continue;
    for (const Piece& piece : segment.pieces) make_kernels_soon(piece, segment.lane.state->device);
  }
}

}  // namespace ofl::graph
