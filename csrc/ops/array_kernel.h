// Array kernels: work on whole arrays that is no loop nest over broadcast operands, such as gather,
// sort, scan and NumPy's generalized ufuncs. The rules of kernel.h hold: a plain function that gets
// addresses it may touch, knows no tensor and no device, takes no lock and needs no GIL; it may
// throw ofl::Error. Outputs overlap no input and each other unless the kernel says otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/shape.h"
#include "ep/device.h"
#include "ops/op_def.h"

namespace ofl::ops {

/// A strided array: `data` is its first element, strides are in bytes and of any sign.
struct ArrayView {
  char* data = nullptr;
  DType dtype = DType::f64;
  Dims shape;
  Dims strides;
};

/// One of NumPy's typed inner loops.
struct Loop {
  LoopFn function = nullptr;
  void* data = nullptr;
};

struct ArrayArgs {
  std::vector<ArrayView> operands;  // inputs, then outputs
  int inputs = 0;
  std::vector<int64_t> attr;  // kernel specific
  Loop loop;                  // for the kernels that run one
  const char* op = "";        // the operation, for errors

  const ArrayView& input(int i) const { return operands[i]; }
  const ArrayView& output(int i) const { return operands[inputs + i]; }
  int outputs() const { return static_cast<int>(operands.size()) - inputs; }
};

/// A row of the table of array kernels (array_kernels.cpp).
struct ArrayKernel {
  const char* name;
  void (*run)(const ArrayArgs& args);
  double cost;  // of one element of the largest operand, in float32 additions
};

/// Error(runtime) for a name that the table does not have.
const ArrayKernel& array_kernel(const std::string& name);

/// An array kernel with its arguments; stays in place until the queue has run it.
struct ArrayCall {
  const ArrayKernel* kernel = nullptr;
  ArrayArgs args;
  double work = 0;  // in float32 additions
  std::optional<Error>* async_error = nullptr;
};

/// Runs it in the calling thread (host devices; may throw what the kernel throws), or enqueues it;
/// then a failure goes to *async_error before the queue moves on. Turns device addresses into what
/// the kernel may touch.
void launch(ep::Stream& queue, ArrayCall& call);

// --- the kernels; attr is said of each

/// out[i] = loop(out[i - 1], in[i]) along axis attr[0], starting with in[0]; the loop is a binary
/// one of the dtype that both arrays have. Bits as NumPy's <ufunc>.accumulate.
void accumulate_kernel(const ArrayArgs& args);

/// What an index outside of its axis does.
enum class OutOfRange : int64_t { raise, wrap, clip };

/// out[b..., r...] = x[i0[b...], i1[b...], ..., r...]; inputs x, then an index array (of integers)
/// for each of x's leading dimensions, broadcast to one shape. attr: OutOfRange, then for each
/// index array the number of its axis, for errors. Error(index) for an index out of range.
void gather_kernel(const ArrayArgs& args);

/// x[i0[b...], i1[b...], ..., r...] = value[b..., r...] in row-major order of b; the output is x.
/// Inputs: the index arrays, then the value of x's dtype, or none and it is the scalar in attr.
/// attr: OutOfRange, how many index arrays, their axes, the two words of the scalar.
void scatter_kernel(const ArrayArgs& args);

/// out[k, r...] = x[m..., r...] for the k-th true m of the mask; inputs x, mask. Error(runtime)
/// when there are not as many as out has room for.
void mask_gather_kernel(const ArrayArgs& args);

/// x[m..., r...] = value[k, r...] for the k-th true m of the mask; the output is x. Inputs: mask,
/// then the value of x's dtype, or none and it is the scalar in attr. attr: how many must be true,
/// or -1 (Error(value) before anything is written), the two words of the scalar.
void mask_scatter_kernel(const ArrayArgs& args);

/// out[..., j, ...] = x[..., index[..., j, ...], ...] along axis attr[0]; inputs x, index. They
/// have one shape, but for x along the axis. Error(index) for an index out of range.
void take_along_axis_kernel(const ArrayArgs& args);

/// out (0-d int64) = how many elements of the input are not zero.
void count_nonzero_kernel(const ArrayArgs& args);

/// out[d, k] = coordinate d of the k-th element that is not zero, in row-major order; out int64
/// with a row for each dimension. Error(runtime) when there are not as many as out has columns.
void nonzero_kernel(const ArrayArgs& args);

}  // namespace ofl::ops
