#include "graph/running/step_records.h"

#include "tensor/body.h"

namespace ofl::graph {

namespace {

uint64_t bytes_of(const Tensor& x) { return static_cast<uint64_t>(x.size()) * size_of(x.dtype); }

/// As eager describes the same call: loops by the shape that they walk.
void describe(const Step& step, vm::Description* out) {
  if (step.loops) return describe_result(step.loops->args, out);
  for (const Placed& operand : step.operands) out->bytes += bytes_of(operand.layout);
  const size_t first = step.arrays ? step.arrays->inputs.size() : 0;
  describe_shape(step.operands[first].layout.shape, step.operands[first].layout.dtype, out);
}

}  // namespace

void StepRecords::append(const Step& step, int64_t end_ns) {
  vm::Part part{step.name, step.site ? step.site : site_, 0, {}, latest_, end_ns};
  for (size_t k = 0; k < step.operands.size(); ++k) {
    if (step.writes[k]) part.bytes += bytes_of(step.operands[k].layout);
  }
  describe(step, &part.description);
  parts_.push_back(part);
}

void StepRecords::add(const Step& step, int64_t end_ns) {
  append(step, end_ns);
  latest_ = end_ns;
}

void StepRecords::add(const Lowered& lowered, const Piece& piece, int64_t end_ns) {
  const size_t first = parts_.size();
  for (const Call& call : piece.calls) append(*call.step, end_ns);
  latest_ = end_ns;
  if (piece.calls.size() == 1) return;
  for (size_t i = first; i < parts_.size(); ++i) parts_[i].description.group = first + 1;
  parts_[first].description.saved_bytes = saved_bytes(lowered, *piece.unit);
}

}  // namespace ofl::graph
