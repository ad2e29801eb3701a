// Checks of results: an operation that makes a NaN or an infinity, though its operands have none,
// fails like any other. The checks are instructions; so the machine orders them, on any device.
//
//   operands ──► note_nonfinite ──► had any? ──┐
//       └──────► the operation ──► results ────┴─► require_finite: fails, as the value of the results
#pragma once

#include <optional>

#include "tensor/submit.h"

namespace ofl {

/// While the machine has it, submit() checks results.
class ResultChecker final : public vm::Observer {
 public:
  bool checks_results() const override { return true; }
};

/// The check of one operation. It is made before the operation is issued, and follow() issued after
/// it.
class ResultCheck {
 public:
  ResultCheck(const Issuer& issuer, const LoopPlan& plan);
  ResultCheck(const Issuer& issuer, const ArrayPlan& plan);
  void follow();

 private:
  /// Elements that count: of floating-point and complex tensors.
  using Tensors = SmallVector<const Tensor*, 4>;

  void note(const Tensors& operands);

  const Issuer& issuer_;
  const char* const name_;
  Tensors results_;  // none: there is nothing to check
  std::optional<Tensor> had_any_;  // of the operands; none: they cannot have
};

}  // namespace ofl
