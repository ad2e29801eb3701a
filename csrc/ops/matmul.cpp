#include "ops/kernel.h"
#include "ops/loops.h"

namespace ofl::ops {

namespace {

enum Operand { kA, kB, kOut };

}  // namespace

void matmul_kernel(const KernelArgs& args) {
  const Iteration& iteration = args.iteration;
  const int batch_rows = iteration.ndim - 3;
  const Iteration::Row& m = iteration.rows[batch_rows];
  const Iteration::Row& k = iteration.rows[batch_rows + 1];
  const Iteration::Row& n = iteration.rows[batch_rows + 2];
  static constexpr Iteration::Row kOne = {1, {}};
  const Iteration::Row& batch = batch_rows > 0 ? iteration.rows[batch_rows - 1] : kOne;
  if (batch.dim == 0 || m.dim == 0 || n.dim == 0) return;

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

}  // namespace ofl::ops
