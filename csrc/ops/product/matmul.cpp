#include "base/error.h"
#include "ops/loops.h"
#include "ops/product/gemm.h"
#include "ops/product/gemm_plan.h"

namespace ofl::ops {

namespace {

enum Operand { kA, kB, kOut };

/// NumPy's loop, matrix after matrix.
void numpy_product(const LoopArgs& args) {
  const Iteration& iteration = args.iteration;
  const int batch_rows = iteration.ndim - 3;
  const Iteration::Row& m = iteration.rows[batch_rows];
  const Iteration::Row& k = iteration.rows[batch_rows + 1];
  const Iteration::Row& n = iteration.rows[batch_rows + 2];
  static constexpr Iteration::Row kOne = {1, {}};
  const Iteration::Row& batch = batch_rows > 0 ? iteration.rows[batch_rows - 1] : kOne;

  // NumPy's signature (m,k),(k,n)->(m,n): the outer count and strides first, then the core ones.
  const intptr_t dims[] = {batch.dim, m.dim, k.dim, n.dim};
  const intptr_t steps[] = {batch.strides[kA], batch.strides[kB], batch.strides[kOut],
                            m.strides[kA],     k.strides[kA],     k.strides[kB],
                            n.strides[kB],     m.strides[kOut],   n.strides[kOut]};
  for_each_row(iteration, batch_rows > 0 ? batch_rows - 1 : 0, args.data,
               [&](char* const* pointers) {
                 char* data[] = {pointers[kA], pointers[kB], pointers[kOut]};
                 args.resolution->loop(data, dims, steps, args.resolution->data);
               });
}

/// bfloat16, of which NumPy has no loop, in float32, matrix after matrix.
void float32_product(const LoopArgs& args) {
  const BatchedProduct plan = plan_products(args);
  for (int64_t i = 0; i < plan.count(); ++i) {
    const Product p = plan[i];
    const PackedMatrix packed_a(p.a, DType::f32, nullptr), packed_b(p.b, DType::f32, nullptr);
    const PackedMatrix packed_out(p.out, DType::f32);
    const Matrix a = packed_a.matrix(), b = packed_b.matrix(), out = packed_out.matrix();
    const intptr_t dims[] = {1, p.m(), p.k(), p.n()};
    const intptr_t steps[] = {0,
                              0,
                              0,
                              a.row_step,
                              a.column_step,
                              b.row_step,
                              b.column_step,
                              out.row_step,
                              out.column_step};
    char* data[] = {a.data, b.data, out.data};
    args.resolution->loop(data, dims, steps, args.resolution->data);
    copy_matrix(out, p.out, nullptr);
  }
}

/// Without BLAS.
void plain_product(const LoopArgs& args) {
  return args.dtype[kOut] == DType::bf16 ? float32_product(args) : numpy_product(args);
}

bool is_empty(const Iteration& iteration) {
  for (int d = 0; d < iteration.ndim; ++d) {
    if (d != iteration.ndim - 2 && iteration.rows[d].dim == 0) return true;
  }
  return false;
}

}  // namespace

void matmul_kernel(const LoopArgs& args) {
  if (is_empty(args.iteration)) return;
  const bool sums_nothing = args.iteration.rows[args.iteration.ndim - 2].dim == 0;
  const DTypeKind kind = info(args.dtype[kOut]).kind;
  const bool inexact = kind == DTypeKind::floating || kind == DTypeKind::complex;
  const bool adds = adds_to_result(args);
  if (sums_nothing && adds) return;
  if (sums_nothing) return plain_product(args);
  if (!inexact) return integer_product(args);
  const Blas* library = blas();
  if (library && blas_product(*library, args)) return;
  if (adds) fail(ErrorKind::runtime, "[", args.name, "] only BLAS adds a product to a matrix");
  if (conjugates_left(args)) fail(ErrorKind::runtime, "[", args.name, "] only BLAS conjugates");
  plain_product(args);
}

}  // namespace ofl::ops
