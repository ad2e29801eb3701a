#include "graph/running/steps/step_records.h"

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

vm::Part part_of(const Step& step) {
  vm::Part part{step.name, step.site, 0, {}};
  for (size_t k = 0; k < step.operands.size(); ++k) {
    if (step.writes[k]) part.bytes += bytes_of(step.operands[k].layout);
  }
  describe(step, &part.description);
  return part;
}

void append_step(const void* program, int32_t, int32_t number, int32_t,
                 std::vector<vm::Part>* parts) {
  parts->push_back(part_of(static_cast<const Lowered*>(program)->steps[number]));
}

void append_piece(const void* program, int32_t segment, int32_t number, int32_t member,
                  std::vector<vm::Part>* parts) {
  const auto& schedule = *static_cast<const Schedule*>(program);
  const Piece& piece = schedule.segments[segment].pieces[number];
  if (member >= 0) return parts->push_back(part_of(*piece.calls[member].step));
  const size_t first = parts->size();
  for (const Call& call : piece.calls) parts->push_back(part_of(*call.step));
  if (piece.calls.size() == 1) return;
  (*parts)[first].description.saved_bytes = saved_bytes(*schedule.lowered, *piece.unit);
}

}  // namespace

vm::PartTexts texts_of_steps(std::shared_ptr<const Lowered> lowered) {
  return {std::move(lowered), append_step};
}

vm::PartTexts texts_of_pieces(std::shared_ptr<const Schedule> schedule) {
  return {std::move(schedule), append_piece};
}

}  // namespace ofl::graph
