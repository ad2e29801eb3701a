// Products of matrices.
#include "ops/product/gemm.h"
#include "ops/product/gemm_plan.h"
#include "tensor/op_call.h"
#include "tensor/submit.h"

namespace ofl {

namespace {

/// The matrices of a factor: a vector is one row on the left, one column on the right.
struct Matrices {
  int64_t rows = 1, columns = 1;
  int64_t row_step = 0, column_step = 0;  // in bytes
  int batch = 0;                          // dimensions in front of them
};

Matrices matrices_of(const Tensor& x, bool is_left) {
  Matrices found;
  const int last = x.ndim() - 1;
  if (last > 0 || is_left) {
    found.columns = x.shape[last];
    found.column_step = x.strides[last];
  }
  if (last > 0 || !is_left) {
    const int row = last > 0 ? last - 1 : 0;
    found.rows = x.shape[row];
    found.row_step = x.strides[row];
  }
  found.batch = last > 0 ? last - 1 : 0;
  return found;
}

Dims leading(const Dims& dims, int count) {
  Dims result = dims;
  result.resize(count);
  return result;
}

/// A factor and its matrices.
struct Factor {
  const Tensor& x;
  Matrices matrices;

  Dims batch() const { return leading(x.shape, matrices.batch); }
  Dims batch_steps(const Dims& batch, const char* name) const {
    return broadcast_strides(this->batch(), leading(x.strides, matrices.batch), batch, name);
  }
};

/// Batch loops, then the three core rows that matmul_kernel expects. `result` is row-major.
void plan_matmul(LoopPlan& plan, const Factor& a, const Factor& b, const Tensor& result,
                 const Dims& batch) {
  if (!batch.empty()) {
    const Dims steps_a = a.batch_steps(batch, plan.args.name);
    const Dims steps_b = b.batch_steps(batch, plan.args.name);
    for (int d = 0; d < batch.size(); ++d) {
      plan.add_row(batch[d], {steps_a[d], steps_b[d], result.strides[d], 0});
    }
  }
  const auto item = static_cast<int64_t>(size_of(result.dtype));
  const int64_t m = a.matrices.rows, k = a.matrices.columns, n = b.matrices.columns;
  plan.add_row(m, {a.matrices.row_step, 0, n * item, 0});
  plan.add_row(k, {a.matrices.column_step, b.matrices.row_step, 0, 0});
  plan.add_row(n, {0, b.matrices.column_step, item, 0});
  plan.args.attr[0] = m;
  plan.args.attr[1] = k;
  plan.args.attr[2] = n;
}

/// Of one element of the loops, in float32 additions.
double cost_of(int64_t m, int64_t k, int64_t n, DType dtype) {
  const double elements = static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n);
  return elements == 0 ? 1 : ops::product_work(m, k, n, dtype) / elements;
}

/// The kernel's call for operands of one dtype.
void plan_call(LoopPlan& plan, const ops::OpDef& op, const ops::Resolution& resolution,
               const Factor& a, const Factor& b, const Tensor& result, const Dims& batch) {
  plan.cost = cost_of(a.matrices.rows, a.matrices.columns, b.matrices.columns, result.dtype);
  plan.args.op = &op;
  plan.args.resolution = &resolution;
  plan.set_operand(0, &a.x);
  plan.set_operand(1, &b.x);
  plan.set_operand(2, &result);
  plan.new_bytes = result.storage->bytes();
  plan_matmul(plan, a, b, result, batch);
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
  Tensor casts[2];
  const auto promoted = [&](const Tensor& x, int place) -> const Tensor& {
    const DType dtype = resolution.operand[place];
    return x.dtype == dtype ? x : casts[place] = cast_copy(issuer, x, dtype, name);
  };
  const Tensor& factor_a = promoted(a, 0);
  const Tensor& factor_b = promoted(b, 1);
  const Factor left{factor_a, matrices_of(factor_a, true)};
  const Factor right{factor_b, matrices_of(factor_b, false)};
  const int64_t m = left.matrices.rows, k = left.matrices.columns, n = right.matrices.columns;
  if (k != right.matrices.rows) {
    fail(ErrorKind::value, "[", name, "] expected ", k, " rows in the second operand, got ",
         right.matrices.rows, " (shapes ", shape_str(a.shape), " and ", shape_str(b.shape), ")");
  }
  const bool has_batch = left.matrices.batch || right.matrices.batch;
  const Dims batch = has_batch ? broadcast_shapes(left.batch(), right.batch(), name) : Dims{};
  if (batch.size() + 3 > kMaxDims) {
    fail(ErrorKind::value, "[", name, "] at most ", kMaxDims - 1, " dimensions, got ",
         batch.size() + 2);
  }
  Dims shape = batch;
  if (a.ndim() > 1) shape.push_back(m);
  if (b.ndim() > 1) shape.push_back(n);
  Tensor result = make_tensor(factor_a.storage->state(), resolution.result, shape, issuer.site);
  if (issuer.sink) {
    OpCall call(CallKind::matmul, name);
    call.op = &op;
    call.resolution = &resolution;
    const Input inputs[] = {&factor_a, &factor_b};
    return take_one(issuer, std::move(call), inputs, 2, result);
  }
  LoopPlan plan(name, ops::KernelId::matmul, 3);
  plan_call(plan, op, resolution, left, right, result, batch);
  submit(issuer, plan);
  return result;
}

bool conjugated_product(const Issuer& issuer, const ops::OpDef& op,
                        const ops::Resolution& resolution, const Tensor& a, const Tensor& b,
                        Tensor* out) {
  const bool are_alike = a.ndim() == 1 && a.shape == b.shape && a.dtype == b.dtype &&
                         a.dtype == resolution.result && a.device() == b.device();
  if (!are_alike || issuer.sink || !a.storage->state().device.runs_host_kernels()) return false;
  // If the elements of `a` do not lie side by side, the two steps make a copy in which they do. The
  // routines add that up in another order, so the bits would differ.
  if (a.strides[0] != static_cast<int64_t>(size_of(a.dtype)) && a.size() > 1) return false;
  Tensor result = make_tensor(a.storage->state(), a.dtype, Dims{}, issuer.site);
  LoopPlan plan(op.name.c_str(), ops::KernelId::matmul, 3);
  plan_call(plan, op, resolution, {a, matrices_of(a, true)}, {b, matrices_of(b, false)}, result,
            {});
  if (!ops::can_conjugate(plan.args)) return false;
  plan.args.attr[3] = 2;
  submit(issuer, plan);
  *out = std::move(result);
  return true;
}

}  // namespace ofl
