// Tensor: a strided view (dtype, shape, strides, offset) of a storage. A value; copying it makes
// another handle of the same bytes.
#pragma once

#include <cstdint>
#include <optional>

#include "base/dtype.h"
#include "base/shape.h"
#include "tensor/storage.h"

namespace ofl {

struct Tensor {
  StorageRef storage;
  DType dtype = DType::f64;
  Dims shape;
  Dims strides;        // bytes
  int64_t offset = 0;  // bytes from the start of the storage to the first element

  int ndim() const { return shape.size(); }
  int64_t size() const { return element_count(shape); }
  Device device() const { return storage->device(); }
  bool contiguous() const {
    return is_contiguous(shape, strides, static_cast<int64_t>(size_of(dtype)));
  }
  /// The first element; the storage is materialized and the caller is ordered after its writer.
  char* address() const { return storage->data() + offset; }
};

/// A new tensor with a storage of its own, row-major, not yet materialized.
Tensor make_tensor(vm::DeviceState& state, DType dtype, const Dims& shape, vm::SiteId site);
/// The same on the host, with its memory, which nobody else has yet; false where there is none at
/// once: only an instruction waits for what others give back.
bool make_tensor_now(vm::DeviceState& state, DType dtype, const Dims& shape, vm::SiteId site,
                     Tensor* out);

// --- views: share the storage, cost no instruction

/// nullopt when strides do not allow it. `shape` has as many elements as `x`.
std::optional<Tensor> reshape_view(const Tensor& x, const Dims& shape);
Tensor permute_view(const Tensor& x, const SmallVector<int, 4>& axes);
/// The axes from the last to the first.
Tensor reversed_view(const Tensor& x);
Tensor broadcast_view(const Tensor& x, const Dims& shape, const char* op);
/// The diagonal of two different axes (normalized), `offset` above the main one, as the last axis.
Tensor diagonal_view(const Tensor& x, int64_t offset, int axis1, int axis2);
/// Real (part 0) or imaginary (part 1) components of a complex tensor.
Tensor component_view(const Tensor& x, int part);

/// `shape` with one -1 replaced; Error(value) when the element counts differ.
Dims resolve_shape(const Tensor& x, Dims shape);

/// Negative axes counted from the end; Error(axis) `[op] axis 3 is out of bounds for 2
/// dimensions`.
int normalize_axis(int64_t axis, int ndim, const char* op);

/// Bytes from the first element of a to that of b; nullopt: they have no memory in common. Storages
/// over memory that is shared may have.
std::optional<int64_t> distance(const Tensor& a, const Tensor& b);

/// How two tensors lie to each other in memory.
enum class Overlap : uint8_t { none, same, partial };
Overlap overlap(const Tensor& a, const Tensor& b);

}  // namespace ofl
