// Indexing by arrays: reading and writing what integer arrays or a mask select.
#pragma once

#include <optional>
#include <vector>

#include "ops/array_args.h"
#include "tensor/issue.h"

namespace ofl {

/// What index arrays, or one mask, select of a tensor. The result has the dimensions of `picked`,
/// put among the other ones at `place`.
struct Selection {
  Tensor x;                    // a view: the indexed dimensions, then the others
  std::vector<Tensor> arrays;  // of integers, one for each indexed dimension; broadcast to `picked`
  std::optional<Tensor> mask;  // or: of all indexed dimensions; `picked` is how many are true
  std::vector<int64_t> axes;   // numbers of the indexed dimensions, for errors
  Dims picked;                 // (-1,) for a mask whose true elements are not yet counted
  int place = 0;
  ops::OutOfRange mode = ops::OutOfRange::raise;

  int indexed() const { return mask ? mask->ndim() : static_cast<int>(arrays.size()); }
};

/// A view of a value to assign: NumPy lets leading dimensions of size 1 go that are too many.
Tensor without_leading(const Tensor& value, int ndim);

/// `picked` among the dimensions that are not indexed.
Dims selected_shape(const Selection& selection);

/// x with an integer array along one axis.
Selection select_along(const Tensor& x, int axis, const Tensor& indices, ops::OutOfRange mode);

// Small work stays home: x[selector], where the selector is an array of int64 along the first
// dimension or a mask of the leading ones, done here when all of it is small, on the host, ready,
// sound, unobserved and dense, each index is in range, and what is written overlaps nothing that is
// read. Else false, without any effect: gather() and scatter() do it, and say what is wrong.

/// Into a new tensor.
bool gather_here(const Issuer& issuer, const Tensor& x, const Tensor& selector, Tensor* out);
/// Of a value with the dtype and the shape of what is selected; where indices repeat, the last one
/// stays.
bool scatter_here(const Issuer& issuer, const Tensor& x, const Tensor& selector,
                  const Tensor& value);
bool scatter_here(const Issuer& issuer, const Tensor& x, const Tensor& selector,
                  const Scalar& value);

/// Error(index) where there are indices (of shape `picked`), and one of the `count` leading
/// dimensions of x that they go along has no elements. `axes` are the numbers of these.
void require_elements(const char* name, const Dims& picked, const Dims& x, const int64_t* axes,
                      int count);

/// A new tensor; `picked` is known. An index out of range is an error of the result. As in NumPy,
/// take() makes a row-major one. gather(), for x[...], has the picked dimensions outside the others
/// in memory.
Tensor take(const Issuer& issuer, const char* name, const Selection& selection);
Tensor gather(const Issuer& issuer, const char* name, const Selection& selection);

/// Writes a value, broadcast and cast; where indices repeat, the last one in row-major order stays.
/// The number of values for a mask that is not counted is checked when it runs.
void scatter(const Issuer& issuer, const char* name, const Selection& selection,
             const Tensor& value);
void scatter(const Issuer& issuer, const char* name, const Selection& selection,
             const Scalar& value);

/// How many elements of x are not zero, when it is small, on the host, ready and sound.
std::optional<int64_t> count_nonzero_here(const Issuer& issuer, const Tensor& x);
/// The same for any x: 0-d int64.
Tensor count_nonzero(const Issuer& issuer, const char* name, const Tensor& x);

/// Their coordinates, a row for each dimension; `count` of them.
Tensor nonzero(const Issuer& issuer, const char* name, const Tensor& x, int64_t count);

}  // namespace ofl
