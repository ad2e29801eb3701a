#include "tensor/finite.h"

namespace ofl {

namespace {

constexpr const char* kName = "check_nan_inf";

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

ResultCheck::ResultCheck(const Issuer& issuer, const LoopPlan& plan)
    : issuer_(issuer), name_(plan.args.name) {
  if (ops::info(plan.args.kernel).makes == ops::Makes::given || has_nonfinite_scalar(plan)) return;
  const int last = plan.args.size() - 1;
  add(&results_, plan.operand(last));
  Tensors operands;
  for (int i = 0; i < last; ++i) add(&operands, plan.operand(i));
  note(operands);
}

ResultCheck::ResultCheck(const Issuer& issuer, const ArrayPlan& plan)
    : issuer_(issuer), name_(plan.name) {
  if (ops::info(plan.kernel).makes == ops::Makes::given) return;
  for (const Tensor* x : plan.outputs) add(&results_, x);
  Tensors operands;
  for (const Tensor* x : plan.inputs) add(&operands, x);
  note(operands);
}

void ResultCheck::note(const Tensors& operands) {
  if (results_.empty() || operands.empty()) return;
  had_any_ = make_tensor(results_[0]->storage->state(), DType::b1, Dims{}, issuer_.site);
  ArrayPlan plan{kName, ops::KernelId::note_nonfinite, operands, {&*had_any_}, {}, {}};
  submit(issuer_, plan);
}

void ResultCheck::follow() {
  if (results_.empty()) return;
  ArrayPlan plan{kName, ops::KernelId::require_finite, {}, results_, {}, {}};
  if (had_any_) plan.inputs.push_back(&*had_any_);
  plan.loop.name = name_;
  submit(issuer_, plan);
}

}  // namespace ofl
