// A batch of products as calls of the device's library.
#include <cstdlib>
#include <optional>

#include "ep/gemm.h"
#include "ops/cuda/product/product.h"
#include "ops/loop_args.h"

namespace ofl::ops::cuda {

namespace {

/// More calls than these are one kernel of our own.
constexpr int64_t kMostCalls = 64;

std::optional<ep::GemmType> type_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return ep::GemmType::f16;
    case DType::bf16: return ep::GemmType::bf16;
    case DType::f32: return ep::GemmType::f32;
    case DType::f64: return ep::GemmType::f64;
    case DType::c64: return ep::GemmType::c64;
    case DType::c128: return ep::GemmType::c128;
    default: return std::nullopt;
  }
}

/// One operand in a batch: the matrix and its steps from one to the next, in bytes.
struct Operand {
  Matrix matrix;
  SmallVector<int64_t, 4> steps;  // as the rows of the batch
};

/// How the library sees a matrix; nullopt: it cannot take it.
std::optional<ep::GemmOperand> operand_of(const Matrix& x) {
  const auto item = static_cast<int64_t>(size_of(x.dtype));
  const auto is_lead = [&](int64_t step, int64_t length) {
    return step % item == 0 && step >= length * item;
  };
  if (x.column_step == item || x.columns == 1) {
    if (x.rows == 1) return ep::GemmOperand{x.data, false, x.columns, 0};
    if (is_lead(x.row_step, x.columns)) return ep::GemmOperand{x.data, false, x.row_step / item, 0};
  }
  if (x.row_step == item || x.rows == 1) {
    if (x.columns == 1) return ep::GemmOperand{x.data, true, x.rows, 0};
    if (is_lead(x.column_step, x.rows)) {
      return ep::GemmOperand{x.data, true, x.column_step / item, 0};
    }
  }
  return std::nullopt;
}

bool fits(const Operand& x) {
  const auto item = static_cast<int64_t>(size_of(x.matrix.dtype));
  for (int64_t step : x.steps) {
    if (step < 0 || step % item != 0) return false;
  }
  return operand_of(x.matrix).has_value();
}

/// A copy in memory of the call, row-major; where a step of the batch is 0 it stays so. False:
/// there is no kernel that copies.
bool pack(Launching& launching, const BatchedProduct& plan, Operand* x) {
  const Matrix from = x->matrix;
  const auto item = static_cast<int64_t>(size_of(from.dtype));
  LoopArgs copy;
  copy.kernel = KernelId::copy;
  copy.dtype[0] = copy.dtype[1] = from.dtype;
  copy.iteration.operands = 2;
  const auto add_row = [&](int64_t dim, int64_t step, int64_t step_out) {
    copy.iteration.rows[copy.iteration.ndim++] = {dim, {step, step_out}};
  };
  int64_t bytes = from.rows * from.columns * item;
  add_row(from.rows, from.row_step, from.columns * item);
  add_row(from.columns, from.column_step, item);
  for (int d = plan.batch.size() - 1; d >= 0; --d) {
    if (x->steps[d] == 0) continue;
    add_row(plan.batch[d].dim, x->steps[d], bytes);
    x->steps[d] = bytes;
    bytes *= plan.batch[d].dim;
  }
  auto* memory = static_cast<char*>(launching.scratch(bytes));
  copy.data[0] = from.data;
  copy.data[1] = memory;
  x->matrix = {memory, from.dtype, from.rows, from.columns, from.columns * item, item};
  coalesce(&copy.iteration);
  return launch_elementwise(launching, copy);
}

/// The row of the batch that one call runs over; -1: there is none.
int longest_row(const BatchedProduct& plan) {
  int longest = -1;
  for (int d = 0; d < plan.batch.size(); ++d) {
    if (longest < 0 || plan.batch[d].dim > plan.batch[longest].dim) longest = d;
  }
  return longest;
}

}  // namespace

bool library_product(Launching& launching, const BatchedProduct& plan) {
  const Product& first = plan.first;
  const auto type = type_of(first.out.dtype);
  const int inner = longest_row(plan);
  const int64_t inner_dim = inner < 0 ? 1 : plan.batch[inner].dim;
  const int64_t calls = plan.count() / inner_dim;
  const auto out = operand_of(first.out);
  if (!type || first.k() == 0 || !out || out->transposed || calls > kMostCalls) return false;
  if (!launching.device().has_gemm()) return false;
  Operand a{first.a, {}}, b{first.b, {}};
  for (const BatchRow& row : plan.batch) {
    a.steps.push_back(row.a);
    b.steps.push_back(row.b);
  }
  if (!fits(a) && !pack(launching, plan, &a)) return false;
  if (!fits(b) && !pack(launching, plan, &b)) return false;
  const auto item = static_cast<int64_t>(size_of(first.out.dtype));
  const bool rounds = launching.device().rounds_gemm();
  for (int64_t index = 0; index < calls; ++index) {
    ep::GemmCall call{*type,
                      first.m(),
                      first.k(),
                      first.n(),
                      *operand_of(a.matrix),
                      *operand_of(b.matrix),
                      nullptr,
                      out->lead,
                      0,
                      inner_dim,
                      rounds};
    int64_t at_a = 0, at_b = 0, at_out = 0, rest = index;
    for (int d = plan.batch.size() - 1; d >= 0; --d) {
      if (d == inner) continue;
      const int64_t place = rest % plan.batch[d].dim;
      rest /= plan.batch[d].dim;
      at_a += place * a.steps[d];
      at_b += place * b.steps[d];
      at_out += place * plan.batch[d].out;
    }
    call.a.data = a.matrix.data + at_a;
    call.b.data = b.matrix.data + at_b;
    call.out = first.out.data + at_out;
    if (inner >= 0) {
      call.a.stride = a.steps[inner] / item;
      call.b.stride = b.steps[inner] / item;
      call.out_stride = plan.batch[inner].out / item;
    }
    if (!launching.gemm(call)) return false;  // the first of them, as they are alike
  }
  return true;
}

}  // namespace ofl::ops::cuda
