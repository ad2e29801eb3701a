#include "vm/instruction.h"

namespace ofl::vm {

Edge* Slot::close(Milestone milestone) {
  auto& list = successors[static_cast<int>(milestone)];
  Edge* edge = list.exchange(&closed_edge, std::memory_order_acq_rel);
  Edge* in_order = nullptr;
  while (edge) {
    Edge* next = edge->next;
    edge->next = in_order;
    in_order = edge;
    edge = next;
  }
  return in_order;
}

bool Slot::reached(Milestone milestone) const {
  const auto& list = successors[static_cast<int>(milestone)];
  return list.load(std::memory_order_acquire) == &closed_edge;
}

Description Slot::describe() const {
  Description description;
  header.type->describe(body, &description);
  description.group = group;
  description.saved_bytes = saved_bytes;
  return description;
}

FailurePtr Slot::operand_failure() const {
  FailurePtr earliest;
  if (!Dependence::any_poisoned()) return earliest;
  for (const Operand& operand : operands) {
    FailurePtr failure = operand.object->failure(name());
    if (failure && (!earliest || issued_before(*failure, *earliest))) earliest = failure;
  }
  return earliest;
}

void Slot::poison_results(const FailurePtr& value) const {
  for (const Operand& operand : operands) {
    if (operand.access == Access::write) operand.object->poison(value, name());
  }
}

}  // namespace ofl::vm
