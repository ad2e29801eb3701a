// Kernels of arrays: work on whole arrays that is no nest of loops over broadcast operands, such as
// gather, sort, scan and NumPy's generalized ufuncs. Outputs overlap no input and each other unless
// the kernel says otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/shape.h"
#include "ep/threads/helper_pool.h"
#include "ops/kernel.h"
#include "ops/op_def.h"

namespace ofl::ops {

/// A strided array: `data` is its first element, strides are in bytes and of any sign.
struct ArrayView {
  char* data = nullptr;
  DType dtype = DType::f64;
  Dims shape;
  Dims strides;

  Extent extent() const { return extent_of(shape, strides, static_cast<int64_t>(size_of(dtype))); }
};

/// One of NumPy's typed inner loops.
struct Loop {
  LoopFn function = nullptr;
  void* data = nullptr;
  const char* name = "";       // of the ufunc, or "sort", "dot"
  const char* signature = "";  // the dtypes that it takes and gives
};

struct ArrayArgs : KernelArgs {
  std::vector<ArrayView> operands;  // inputs, then outputs
  int inputs = 0;
  std::vector<int64_t> attr;  // kernel specific
  Loop loop;                  // for the kernels that run one
  double work = 0;            // in float32 additions; decides whether helpers share it

  const ArrayForm& form() const { return info(kernel).arrays; }
  int size() const { return static_cast<int>(operands.size()); }
  char*& address(int k) { return operands[k].data; }
  bool is_written(int k) const { return k >= inputs; }
  Extent extent(int k) const { return operands[k].extent(); }
  const ArrayView& input(int i) const { return operands[i]; }
  const ArrayView& output(int i) const { return operands[inputs + i]; }
  int outputs() const { return size() - inputs; }
};

// --- the kernels; attr is said of each

/// out[i] = loop(out[i - 1], in[i]) along axis attr[0], starting with in[0]; the loop is a binary
/// one of the dtype that both arrays have. Bits as NumPy's <ufunc>.accumulate. attr[1]: the loop
/// gives the same bits for any strides, so that lanes may go side by side. attr[2]: the operation
/// is associative, but for rounding; attr[3]: it adds.
void accumulate_kernel(const ArrayArgs& args);

/// out = in, sorted along axis attr[0], descending if attr[1]; attr[2]: equal elements that can be
/// told apart (signed zeros, NaN) keep their order. The loop is NumPy's sort of the dtype, of
/// uint64 for complex numbers, of uint16 for bfloat16, or empty.
void sort_kernel(const ArrayArgs& args);

/// out (int64) = the positions that sort in along axis attr[0], descending if attr[1]; equal
/// elements keep their order. The loop is NumPy's sort of uint64, or empty.
void argsort_kernel(const ArrayArgs& args);

/// out = in, in an order along axis attr[0] that has in each of the places what the sorted order
/// has there: no element before it comes after it, and none behind it comes before it. The places
/// are the attr from attr[3] on (attr[1] and attr[2] are 0), or those of each lane in a second
/// input (int64). The loop is NumPy's sort of the dtype, for floats of the integers of their
/// size (of two bytes: uint16), or empty. Error(index) for a place that does not exist.
void partition_kernel(const ArrayArgs& args);

/// out (int64) = positions that partition in; attr and inputs as above. The loop is NumPy's sort
/// of uint64, or empty.
void argpartition_kernel(const ArrayArgs& args);

/// out (int64) = how many elements of the sorted in[0] come before each element of in[1], equal
/// ones included if attr[0]; all one-dimensional. A third input: the positions that sort in[0].
void search_sorted_kernel(const ArrayArgs& args);

/// out (bool) = whether each element of in[1] is in the sorted in[0]; the opposite if attr[0].
void contains_kernel(const ArrayArgs& args);

/// out[0] = the elements of in[2] whose keys, in[1], are in the sorted in[0] (not in it, if
/// attr[0]), in their order, and then anything; out[1] (one int64) = how many.
void members_kernel(const ArrayArgs& args);

/// Runs of equal elements in a sorted array of n: out[0] (n + 1 int64, contiguous) gets where each
/// starts, then n; out[1] (one int64) their number. attr[0]: NaN equal each other.
void run_starts_kernel(const ArrayArgs& args);

/// out = in[0][in[1]], one-dimensional; the positions are in range.
void pick_kernel(const ArrayArgs& args);

/// out[in[1][i]] = the run that i belongs to; in[0]: where runs start, then where the last one
/// ends.
void run_numbers_kernel(const ArrayArgs& args);

/// out (contiguous) = how often each number occurs in in[0] (int64), or the sum of its weights in
/// in[1] (float64). Error(runtime) for a number that is not below the length of out.
void bincount_kernel(const ArrayArgs& args);

/// out (int64) = how many elements of in[0] are between each two of the ascending edges in[1], and
/// then how many are outside of them; all one-dimensional. in[0] is not complex; the edges are
/// float64, or of its dtype. The last edge belongs to the bin before it.
void histogram_kernel(const ArrayArgs& args);

/// A generalized ufunc: `loop` on the operands from attr[0] on, whose dtypes are the loop's.
/// attr[1]: what it means when the loop sets the invalid flag (0: nothing, 1: singular, 2: not
/// positive definite, 3: eigenvalues, 4: singular values, 5: qr, 6: least squares). attr[2]: input
/// 0 (f64 or c128) must be finite. attr[3]: work of one matrix, 0: helpers may not share the batch.
/// attr[4]: how many core dimensions there are; then, for each operand of the loop, how many of its
/// last dimensions are core ones, and their numbers in the order of the ufunc's signature. The
/// other dimensions are broadcast to those of the last operand. An array that the loop changes in
/// place (qr_r_raw) is input and output, and attr[0] passes over the input.
void gufunc_kernel(const ArrayArgs& args);

/// out[i] = the sum over k of in[0][i + k - attr[0]] * in[1][k], of the places that in[0] has; all
/// one-dimensional, out contiguous. in[1] is not longer than in[0]. The loop's data is NumPy's
/// dot function of the dtype.
void correlate_kernel(const ArrayArgs& args);

/// out = the sums over windows of the images in[0], weighted by in[1]: images (n, c, y, x), or
/// (n, c / 16, y, x, 16), of float32 or float64, weights (o, c / groups, y, x); out row-major and
/// laid out as the images. attr: strides along y and x, zeros before (y, x) and after (y, x) an
/// image, dilations, groups. Error(value) where the extents do not go together. An element is
/// summed by blocks of 16 channels, y and x in the window, and channels, in parts of one size.
void conv2d_kernel(const ArrayArgs& args);

/// out = the gradient of the images: in[0] is that of the results, in[1] are the weights; attr as
/// above.
void conv2d_input_gradient_kernel(const ArrayArgs& args);

/// out = the gradient of the weights: in[0] are the images, in[1] is the gradient of the results;
/// attr as above. An element is summed by images, y and x of the results.
void conv2d_weight_gradient_kernel(const ArrayArgs& args);

/// The work of each kernel in float32 additions. It follows from the shapes of inputs and output.
double conv2d_work(const Dims* const* shapes);
double conv2d_input_gradient_work(const Dims* const* shapes);
double conv2d_weight_gradient_work(const Dims* const* shapes);

/// out = the images in[0], (n, c, y, x) or (n, c / 16, y, x, 16), in the other layout, or the same.
void layout_transform_kernel(const ArrayArgs& args);

/// out[i] = the value at in[1][i] of the lines through the points in[0], which ascend, with the
/// values in[2]; below the first point in[3], above the last in[4] (of one element each). All
/// float64 and one-dimensional. attr[0]: the values are a part of complex ones.
void interpolate_kernel(const ArrayArgs& args);

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

/// out (lead, width) = for each place the sum of the rows of in[1] (n, width) that in[0] (n int64)
/// gives it, in order: of float32 or float64, as both are. Error(index): there is no such place.
void scatter_add_kernel(const ArrayArgs& args);

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

/// The error of an index out of range: attr[1] asks for a ValueError, else it is an IndexError.
inline ErrorKind index_error(const ArrayArgs& args) {
  return args.attr.size() > 1 && args.attr[1] ? ErrorKind::value : ErrorKind::index;
}

/// out (0-d int64) = how many elements of the input are not zero.
void count_nonzero_kernel(const ArrayArgs& args);

/// out[d, k] = coordinate d of the k-th element that is not zero, in row-major order; out int64
/// with a row for each dimension. Error(runtime) when there are not as many as out has columns.
void nonzero_kernel(const ArrayArgs& args);

/// out (uint8) = the elements of in as bits, eight along axis attr[0] to a byte, set where they are
/// not zero; zeros fill up the last byte. attr[1]: the first of eight is the lowest bit, not the
/// highest one. in: integers or bools.
void pack_bits_kernel(const ArrayArgs& args);

/// out (uint8) = the bits of in (uint8) along axis attr[0], in the order of attr[1], as above. Bits
/// that out has no place for are left out; places behind the last bit get zeros.
void unpack_bits_kernel(const ArrayArgs& args);

/// Elements that are no finite numbers; of complex ones, with a part that is none.
struct Nonfinite {
  int64_t nan = 0, infinite = 0;  // an element with both is a NaN
  int64_t count() const { return nan + infinite; }
};
Nonfinite count_nonfinite(const ArrayView& x);
/// Error(floating_point) where this result of the operation `name` has such an element.
void refuse_nonfinite(const char* name, const ArrayView& x);

/// out (one bool) = whether an input has an element that is no finite number.
void note_nonfinite_kernel(const ArrayArgs& args);

/// Error(floating_point) where an output has such an element, unless there is an input (one bool)
/// and it is true. The loop's name is that of the operation that made the outputs. In place:
/// nothing is written.
void require_finite_kernel(const ArrayArgs& args);

/// out (contiguous) = counted random numbers. attr: what they are (Distribution in
/// ops/random/philox.h), the key, the low and the high word of the counter, and two parameters: low
/// and width, mean and deviation, 0 and scale (all by the bits of doubles), how many of 2^32 are
/// true, or the least integer and how many there are (0: 2^64). The same bits on every device. More
/// in attr: the output is a window of the draw, whose numbers are counted row-major over the whole.
/// Then come the number of its first element, and how many numbers lie between neighbours of each
/// dimension.
void philox_kernel(const ArrayArgs& args);

}  // namespace ofl::ops
