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

/// What a check of a call looks at, by their numbers among the operands: those of floating-point
/// and complex numbers. No results: there is nothing to check.
struct CheckedOperands {
  SmallVector<int, 4> operands, results;
};
/// Of the plan's tensors, types and shapes are looked at.
CheckedOperands checked_operands(const LoopPlan& plan);
CheckedOperands checked_operands(const ArrayPlan& plan);

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
  template <typename Plan>
  void plan_calls(const Issuer& issuer, const char* name, const Plan& plan);

  Tensor had_any_;  // of the operands
  std::optional<ArrayPlan> before_, after_;
};

}  // namespace ofl
