#include "tensor/finite.h"

namespace ofl {

namespace {

constexpr const char* kName = "check_nan_inf";
constexpr int64_t kLeastSquares = 6;  // attr[1] of gufunc_kernel

bool may_be_infinite(DType dtype) {
  const DTypeKind kind = info(dtype).kind;
  return kind == DTypeKind::floating || kind == DTypeKind::complex;
}

bool may_have_some(const Tensor* x) { return x && may_be_infinite(x->dtype) && x->size() > 0; }

bool is_finite(const Scalar& scalar, DType dtype) {
  Scalar copy = scalar;
  return ops::count_nonfinite({reinterpret_cast<char*>(copy.bytes), dtype, {}, {}}).count() == 0;
}

/// Its elements may be numbers that no operand has.
bool computes(const LoopPlan& plan) {
  const ops::LoopArgs& args = plan.args;
  const bool moves = args.kernel == ops::KernelId::copy && args.dtype[0] == args.dtype[1];
  return ops::info(args.kernel).makes == ops::Makes::computed && !moves;
}

/// A number of the call is none that is finite.
bool has_nonfinite_scalar(const LoopPlan& plan) {
  const ops::LoopArgs& args = plan.args;
  if (args.kernel == ops::KernelId::reduce) {
    return args.attr[0] && !is_finite(args.scalars[0], args.resolution->out);
  }
  for (int i = 0; i + 1 < args.size(); ++i) {
    if (!plan.operand(i) && !is_finite(args.scalars[i], args.dtype[i])) return true;
  }
  return false;
}

}  // namespace

CheckedOperands checked_operands(const LoopPlan& plan) {
  CheckedOperands checked;
  const int last = plan.args.size() - 1;
  if (!computes(plan) || has_nonfinite_scalar(plan) || !may_have_some(plan.operand(last))) {
    return checked;
  }
  checked.results.push_back(last);
  for (int k = 0; k < last; ++k) {
    if (may_have_some(plan.operand(k))) checked.operands.push_back(k);
  }
  if (ops::adds_to_result(plan.args)) checked.operands.push_back(last);
  return checked;
}

CheckedOperands checked_operands(const ArrayPlan& plan) {
  CheckedOperands checked;
  if (ops::info(plan.kernel).makes == ops::Makes::given) return checked;
  // NumPy's loop says by NaN that a problem of least squares has no residuals.
  const bool is_fit = plan.kernel == ops::KernelId::gufunc && plan.attr[1] == kLeastSquares;
  const int inputs = plan.inputs.size();
  for (int k = 0; k < inputs + plan.outputs.size(); ++k) {
    if (!may_have_some(plan.operand(k)) || (is_fit && k > inputs)) continue;
    (k < inputs ? checked.operands : checked.results).push_back(k);
  }
  return checked;
}

ResultCheck::ResultCheck(const Issuer& issuer, const LoopPlan& plan) {
  plan_calls(issuer, plan.args.name, plan);
}

ResultCheck::ResultCheck(const Issuer& issuer, const ArrayPlan& plan) {
  plan_calls(issuer, plan.name, plan);
}

template <typename Plan>
void ResultCheck::plan_calls(const Issuer& issuer, const char* name, const Plan& plan) {
  const CheckedOperands checked = checked_operands(plan);
  if (checked.results.empty()) return;
  after_ = ArrayPlan{kName, ops::KernelId::require_finite, {}, {}, {}, {}};
  after_->loop.name = name;
  for (const int k : checked.results) after_->outputs.push_back(plan.operand(k));
  if (checked.operands.empty()) return;
  had_any_ = make_tensor(after_->outputs[0]->storage->state(), DType::b1, Dims{}, issuer.site);
  before_ = ArrayPlan{kName, ops::KernelId::note_nonfinite, {}, {&had_any_}, {}, {}};
  for (const int k : checked.operands) before_->inputs.push_back(plan.operand(k));
  after_->inputs.push_back(&had_any_);
}

}  // namespace ofl
