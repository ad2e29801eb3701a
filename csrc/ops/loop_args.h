// Kernels of loops: a nest of loops over operands that are broadcast to it.
#pragma once

#include <cstdint>

#include "base/shape.h"
#include "ep/threads/helper_pool.h"
#include "ops/kernel.h"
#include "ops/op_def.h"

namespace ofl::ops {

/// A nest of loops, outermost first: `dims[d]` steps of `strides[d][k]` bytes for operand k.
/// Rows [0, ndim) are valid; ndim 0 is a single element. Order of the loops does not matter to
/// elementwise kernels; reductions are told how many are kept and reduced.
struct Iteration {
  int32_t ndim = 0;
  int32_t operands = 0;  // inputs and, last, the output
  struct Row {
    int64_t dim;
    int64_t strides[kMaxOperands];
  } rows[kMaxDims];

  Iteration() = default;
  Iteration(const Iteration& other) noexcept { *this = other; }
  /// Copies valid rows only: there may be no memory behind them (arguments in a device queue).
  Iteration& operator=(const Iteration& other) noexcept {
    ndim = other.ndim;
    operands = other.operands;
    for (int d = 0; d < ndim; ++d) rows[d] = other.rows[d];
    return *this;
  }
};

/// Elements to which a loop's vectors divide any array; pieces of loops whose bits depend on their
/// vectors start at multiples.
inline constexpr int64_t kVectors = 64;

/// Everything one kernel call needs, as plain data. `data[k]` is the first element of operand k;
/// the output comes last (index `iteration.operands - 1`).
struct LoopArgs : KernelArgs {
  const OpDef* op = nullptr;               // elementwise, reduction, matmul: the row
  const Resolution* resolution = nullptr;  // and what it resolved to
  char* data[kMaxOperands] = {};
  DType dtype[kMaxOperands] = {};  // of the operands as they lie in memory
  Scalar scalars[kMaxInputs];      // an input whose stride is 0 everywhere may point here
  int64_t attr[4] = {};            // kernel specific, see below
  Iteration iteration;             // last: only its valid rows are copied

  const LoopForm& form() const { return info(kernel).loops; }
  int size() const { return iteration.operands; }
  char*& address(int k) { return data[k]; }
  bool is_written(int k) const { return k == iteration.operands - 1; }
  double elements() const {
    double elements = 1;
    for (int d = 0; d < iteration.ndim; ++d) elements *= static_cast<double>(iteration.rows[d].dim);
    return elements;
  }
  Extent extent(int k) const;  // iteration.cpp
};

/// out[i] = loop(in0[i], ...), casting inputs to the resolution's dtypes (and its output to
/// dtype[out]) in cache-sized blocks where they differ.
void elementwise_kernel(const LoopArgs& args);

/// Whether that is one call of the loop on the operands as they lie in memory, unless helpers share
/// it; and that call, with an address for each operand.
bool is_one_call(const LoopArgs& args);
void call_once(const LoopArgs& args);

/// out[i] = cast(in[i]); also the copy, when dtypes are equal. Bits as NumPy's astype.
void copy_kernel(const LoopArgs& args);

/// out[i] = scalars[0], already of the output's dtype. operands == 1.
void fill_kernel(const LoopArgs& args);

/// out[i] = in0[i] ? in1[i] : in2[i]; in0 bool, the others of the output's dtype.
void where_kernel(const LoopArgs& args);

/// out = reduce(in) by the op's binary loop (resolution: dtype,dtype->dtype; the input is cast to
/// it in NumPy's buffer of 8192 elements where it differs). Reduced rows have output stride 0.
/// attr[0]: 1 when `scalars[0]` holds the initial value (sum, prod, all, any), 0 when the first
/// element along the reduced rows starts (max, min; the caller rejects empty reductions).
/// Same bits as np.<ufunc>.reduce wherever NumPy's order is defined by contiguity.
/// Rows may come in any order; the kernel sorts and merges them as NumPy's iterator does.
void reduce_kernel(const LoopArgs& args);

/// out[kept] = index of the first maximum (attr[0] == 0) or minimum (attr[0] == 1) along the
/// reduced rows, flattened in the order of the rows given (row-major over the reduced axes); NaN
/// wins, the first one. Output dtype int64.
void arg_reduce_kernel(const LoopArgs& args);

/// Batched product (dtypes as resolved; the caller casts before): by BLAS, or by NumPy's matmul
/// loop where there is none; integers by loops of our own. Rows are the batch dimensions. attr: m,
/// k, n (out is m x n), and 1 if the product is added to what is in out, where that is possible
/// (can_add_product() in product/gemm.h), 2 if a is conjugated, where that is possible
/// (can_conjugate()); core strides are in the last three rows of the iteration:
/// rows[ndim-3] = {m; a, -, out}, rows[ndim-2] = {k; a, b, -}, rows[ndim-1] = {n; -, b, out}.
void matmul_kernel(const LoopArgs& args);
inline bool adds_to_result(const LoopArgs& args) {
  return args.kernel == KernelId::matmul && args.attr[3] == 1;
}
inline bool conjugates_left(const LoopArgs& args) { return args.attr[3] == 2; }

/// Merges rows that step together and puts the smallest output strides innermost. For elementwise
/// kernels, copies and fills (their result does not depend on the order).
void coalesce(Iteration* iteration);
/// The same in the order that they have. Rows of one step have been left out.
void merge_rows(Iteration* iteration);

/// Casts n elements with strides (bytes); the one conversion table. Bits as NumPy's astype.
using CastFn = void (*)(const char* src, int64_t src_stride, char* dst, int64_t dst_stride,
                        int64_t n);
CastFn cast_function(DType from, DType to);

}  // namespace ofl::ops
