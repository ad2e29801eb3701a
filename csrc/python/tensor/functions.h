// What the extension's functions and the native paths of the Python layer's functions share.
#pragma once

#include <vector>

#include "python/arguments.h"
#include "python/ops/registry.h"
#include "tensor/index/index.h"

namespace ofl::python {

/// What asarray(data, dtype, device=device, copy=copy) makes in Python; a new reference.
PyObject* converted(PyObject* data, PyObject* dtype, PyObject* device, PyObject* copy);

/// A new reference: x in another dtype, or x itself where it has that dtype and need not be copied.
PyObject* cast_tensor(PyObject* x, DType dtype, bool copy);

PyObject* copy_tensor(const Tensor& x);

/// A new reference: x on a device, or x itself where it is there and need not be copied.
PyObject* move_tensor(PyObject* x, Device device, bool copy);

/// Of the cpu, in memory that the driver of the CUDA devices has pinned; Error(runtime) where there
/// is none.
Tensor new_pinned(DType dtype, const Dims& shape);

/// Whether a new shape is a view: Error(value) where it must be and strides do not allow it.
enum class Reuse : uint8_t { where_possible, always, never };
/// What an argument `copy` says: None, True or False.
Reuse reuse_of(PyObject* copy);
/// One -1 in `shape` stands for what is left.
PyObject* reshape_tensor(const Tensor& x, const Dims& shape, Reuse reuse);

/// Error(axis) for an axis out of range, Error(value) where they are no order of all axes.
PyObject* permute_tensor(const Tensor& x, const Dims& axes);

/// As parse_dims(), and no unknown extents.
Dims parse_axes(PyObject* axes, const char* op);

/// As parse_dims(); Error(value) for a negative dimension.
Dims parse_new_shape(PyObject* shape, const char* op);

/// A mask's or condition's choice; `x` and `y` are tensors, arrays or numbers.
PyObject* where_of(PyObject* condition, PyObject* x, PyObject* y);

/// Over all axes where `axes` is None, else over an integer or a sequence of them.
PyObject* reduce_tensor(const OpObject& row, const Tensor& x, PyObject* axes, DType accumulate,
                        const Scalar* initial, bool keepdims);

/// The first extremum, over all elements where `axis` is -1.
PyObject* arg_reduce_tensor(const Tensor& x, int axis, bool keepdims, bool minimum);

/// The elements at integer indices (tensor, array, sequence) along an axis. `name`: for errors.
PyObject* take_along(const Tensor& x, PyObject* indices, int axis, ops::OutOfRange mode,
                     const char* name);

/// A new tensor, sorted along an axis; `stable`: equal elements that differ in bits keep their
/// order.
PyObject* sort_tensor(const Tensor& x, int64_t axis, bool descending, bool stable);
/// The int64 positions that sort x.
PyObject* argsort_tensor(const Tensor& x, int64_t axis, bool descending);
/// x with an element of each lane in its place, counted from 0, or the positions that do that.
PyObject* partition_tensor(const Tensor& x, int64_t axis, int64_t place);
PyObject* argpartition_tensor(const Tensor& x, int64_t axis, int64_t place);

/// `count` sums of products of x with a window, whose first place is `before` elements before x.
/// Both are of one dimension, dtype and device, which is not cuda. Null, without an error, where
/// this NumPy has no dot function of the dtype.
PyObject* correlate_tensors(const Tensor& x, const Tensor& window, int64_t before, int64_t count);

}  // namespace ofl::python
