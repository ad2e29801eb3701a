// What the protocols by which memory is shared have in common.
#pragma once

#include "tensor/tensor.h"

namespace ofl::python {

/// Each element is a place of its own, and nobody forbids it.
bool may_be_written(const Tensor& x);

/// The bytes that a tensor without a storage needs, of whom `first` is the first element.
struct MemoryRange {
  char* begin;
  size_t bytes;
  int64_t offset;  // of the first element
};
/// Error(buffer) where the elements are not aligned as kernels of `device` want it.
MemoryRange range_of(const Tensor& x, Device device, char* first, const char* op);

/// Error(buffer) unless both ends of it are memory of this device, whose type has an `owner`.
void require_memory_of(Device device, const MemoryRange& range, const char* op);

}  // namespace ofl::python
