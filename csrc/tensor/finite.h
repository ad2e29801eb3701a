// Checks of results: an operation that makes a NaN or an infinity, though its operands have none,
// fails like any other. The checks are instructions; so the machine orders them, on any device.
//
//   operands ──► note_nonfinite ──► had any? ──┐
//       └──────► the operation ──► results ────┴─► require_finite: fails, as their value
#pragma once

#include <optional>

#include "tensor/plan.h"

namespace ofl {

/// While the machine has it, submit() checks results.
class ResultChecker final : public vm::Observer {
 public:
  bool checks_results() const override { return true; }
};

/// The check of one operation: calls that are to be submitted before and after it.
class ResultCheck {
 public:
  /// The plan, and its tensors, outlive the check.
  ResultCheck(const Issuer& issuer, const LoopPlan& plan);
  ResultCheck(const Issuer& issuer, const ArrayPlan& plan);
  ResultCheck(const ResultCheck&) = delete;
  /// Null: there is nothing to do.
  const ArrayPlan* before() const { return before_ ? &*before_ : nullptr; }
  const ArrayPlan* after() const { return after_ ? &*after_ : nullptr; }

 private:
  /// Of floating-point and complex numbers.
  using Tensors = SmallVector<const Tensor*, 4>;

  void plan_calls(const Issuer& issuer, const char* name, const Tensors& operands,
                  const Tensors& results);

  Tensor had_any_;  // of the operands
  std::optional<ArrayPlan> before_, after_;
};

}  // namespace ofl
