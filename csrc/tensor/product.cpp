// Products of matrices.
#include "ops/product/gemm_plan.h"
#include "tensor/op_call.h"
#include "tensor/submit.h"

namespace ofl {

namespace {

Tensor with_row_axis(const Tensor& x, int position) {
  Tensor view = x;
  view.shape.resize(0);
  view.strides.resize(0);
  for (int d = 0; d <= x.ndim(); ++d) {
    if (d == position) {
      view.shape.push_back(1);
      view.strides.push_back(0);
    }
    if (d < x.ndim()) {
      view.shape.push_back(x.shape[d]);
      view.strides.push_back(x.strides[d]);
    }
  }
  return view;
}

Dims leading(const Dims& dims, int drop) {
  Dims result = dims;
  result.resize(dims.size() - drop);
  return result;
}

/// Batch loops, then the three core rows that matmul_kernel expects.
void plan_matmul(LoopPlan& plan, const Tensor& a, const Tensor& b, const Tensor& result) {
  const int dims_a = a.ndim(), dims_b = b.ndim(), dims = result.ndim();
  const Dims batch = leading(result.shape, 2);
  const char* const name = plan.args.name;
  const Dims steps_a = broadcast_strides(leading(a.shape, 2), leading(a.strides, 2), batch, name);
  const Dims steps_b = broadcast_strides(leading(b.shape, 2), leading(b.strides, 2), batch, name);
  for (int d = 0; d < batch.size(); ++d) {
    plan.add_row(batch[d], {steps_a[d], steps_b[d], result.strides[d], 0});
  }
  const int64_t m = a.shape[dims_a - 2], k = a.shape[dims_a - 1], n = b.shape[dims_b - 1];
  plan.add_row(m, {a.strides[dims_a - 2], 0, result.strides[dims - 2], 0});
  plan.add_row(k, {a.strides[dims_a - 1], b.strides[dims_b - 2], 0, 0});
  plan.add_row(n, {0, b.strides[dims_b - 1], result.strides[dims - 1], 0});
  plan.args.attr[0] = m;
  plan.args.attr[1] = k;
  plan.args.attr[2] = n;
}

/// Of one element of the loops, in float32 additions.
double cost_of(const Tensor& a, const Tensor& b, const Tensor& result) {
  const int64_t m = result.shape[result.ndim() - 2], n = b.shape[b.ndim() - 1];
  const int64_t k = a.shape[a.ndim() - 1];
  const double elements = static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n);
  return elements == 0 ? 1 : ops::product_work(m, k, n, result.dtype) / elements;
}

}  // namespace

Tensor matmul(const Issuer& issuer, const ops::OpDef& op, const ops::Resolution& resolution,
              const Tensor& a, const Tensor& b) {
  const char* const name = op.name.c_str();
  require_same_device(name, a.device(), b.device());
  if (a.ndim() == 0 || b.ndim() == 0) {
    fail(ErrorKind::value, "[", name, "] expected at least one dimension, got shapes ",
         shape_str(a.shape), " and ", shape_str(b.shape));
  }
  const auto promoted = [&](const Tensor& x, int k) {
    const DType dtype = resolution.operand[k];
    return x.dtype == dtype ? x : cast_copy(issuer, x, dtype, name);
  };
  const Tensor factor_a = promoted(a, 0), factor_b = promoted(b, 1);
  Tensor left = factor_a, right = factor_b;
  if (a.ndim() == 1) left = with_row_axis(left, 0);
  if (b.ndim() == 1) right = with_row_axis(right, 1);
  const int64_t k = left.shape[left.ndim() - 1];
  if (k != right.shape[right.ndim() - 2]) {
    fail(ErrorKind::value, "[", name, "] expected ", k, " rows in the second operand, got ",
         right.shape[right.ndim() - 2], " (shapes ", shape_str(a.shape), " and ",
         shape_str(b.shape), ")");
  }
  Dims shape = broadcast_shapes(leading(left.shape, 2), leading(right.shape, 2), name);
  shape.push_back(left.shape[left.ndim() - 2]);
  shape.push_back(right.shape[right.ndim() - 1]);
  if (shape.size() + 1 > kMaxDims) {
    fail(ErrorKind::value, "[", name, "] at most ", kMaxDims - 1, " dimensions, got ",
         shape.size());
  }
  Tensor result = make_tensor(left.storage->state(), resolution.result, shape, issuer.site);
  Dims visible = leading(shape, 2);
  if (a.ndim() > 1) visible.push_back(shape[shape.size() - 2]);
  if (b.ndim() > 1) visible.push_back(shape[shape.size() - 1]);
  const Tensor seen = *reshape_view(result, visible);
  if (issuer.sink) {
    OpCall call(CallKind::matmul, name);
    call.op = &op;
    call.resolution = &resolution;
    const Input inputs[] = {&factor_a, &factor_b};
    return take_one(issuer, std::move(call), inputs, 2, seen);
  }
  LoopPlan plan(name, ops::KernelId::matmul, 3);
  plan.cost = cost_of(left, right, result);
  plan.args.op = &op;
  plan.args.resolution = &resolution;
  plan.set_operand(0, &left);
  plan.set_operand(1, &right);
  plan.set_operand(2, &result);
  plan.new_bytes = result.storage->bytes();
  plan_matmul(plan, left, right, result);
  submit(issuer, plan);
  return seen;
}

}  // namespace ofl
