// Operands that go backwards, seen from their other end.
#pragma once

#include <vector>

#include "tensor/issue.h"

namespace ofl {

/// Whether a call is to be turned round: the output goes backwards somewhere, and no input shares
/// some of its elements in other places. (Then NumPy keeps the direction, too.)
bool is_turned(const Input* inputs, int count, const Tensor& out);

/// Views of the operands of a call, turned round along each axis of the output where none of them
/// goes forward. NumPy does so where the output is given, and some of its loops round by the sign
/// of their steps.
class Turned {
 public:
  /// The inputs broadcast to `out`.
  Turned(const Input* inputs, int count, const Tensor& out);

  const Input* inputs() const { return inputs_; }
  const Tensor& out() const { return tensors_.back(); }

 private:
  std::vector<Tensor> tensors_;  // those of the inputs, empty ones for numbers, and the output
  Input inputs_[ops::kMaxInputs];
};

}  // namespace ofl
