#include "tensor/finite.h"

namespace ofl {

namespace {

constexpr const char* kName = "check_nan_inf";
constexpr int64_t kLeastSquares = 6;  // attr[1] of gufunc_kernel

bool may_be_infinite(DType dtype) {
  const DTypeKind kind = info(dtype).kind;
  return kind == DTypeKind::floating || kind == DTypeKind::complex;
}

template <typename Tensors>
void add(Tensors* tensors, const Tensor* x) {
  if (x && may_be_infinite(x->dtype) && x->size() > 0) tensors->push_back(x);
}

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

ResultCheck::ResultCheck(const Issuer& issuer, const LoopPlan& plan) {
  if (!computes(plan) || has_nonfinite_scalar(plan)) return;
  const int last = plan.args.size() - 1;
  Tensors operands, results;
  for (int i = 0; i < last; ++i) add(&operands, plan.operand(i));
  add(&results, plan.operand(last));
  plan_calls(issuer, plan.args.name, operands, results);
}

ResultCheck::ResultCheck(const Issuer& issuer, const ArrayPlan& plan) {
  if (ops::info(plan.kernel).makes == ops::Makes::given) return;
  // NumPy's loop says by NaN that a problem of least squares has no residuals.
  const bool is_fit = plan.kernel == ops::KernelId::gufunc && plan.attr[1] == kLeastSquares;
  Tensors operands, results;
  for (const Tensor* x : plan.inputs) add(&operands, x);
  for (const Tensor* x : plan.outputs) {
    if (!is_fit || x == plan.outputs[0]) add(&results, x);
  }
  plan_calls(issuer, plan.name, operands, results);
}

void ResultCheck::plan_calls(const Issuer& issuer, const char* name, const Tensors& operands,
                             const Tensors& results) {
  if (results.empty()) return;
  after_ = ArrayPlan{kName, ops::KernelId::require_finite, {}, results, {}, {}};
  after_->loop.name = name;
  if (operands.empty()) return;
  had_any_ = make_tensor(results[0]->storage->state(), DType::b1, Dims{}, issuer.site);
  before_ = ArrayPlan{kName, ops::KernelId::note_nonfinite, operands, {&had_any_}, {}, {}};
  after_->inputs.push_back(&had_any_);
}

}  // namespace ofl
