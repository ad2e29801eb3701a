// An op call: check, infer, allocate the result's handle, and issue one instruction (or run it
// here, when it is small and nothing stands before it). Everything returns at once; wrong arguments
// throw.
#pragma once

#include <vector>

#include "ops/op_def.h"
#include "tensor/tensor.h"

namespace ofl {

class Sink;
class PlanSink;

/// Who issues: the machine, and the place in the program. While a program is recorded, a sink takes
/// the calls in the machine's place; while it is lowered, another one takes what they become.
struct Issuer {
  vm::VirtualMachine& machine;
  vm::SiteId site;
  Sink* sink = nullptr;
  PlanSink* plans = nullptr;
};

/// An operand: a tensor, or a scalar already converted to the dtype that the op wants. While a
/// program is recorded or lowered, a scalar may have a slot: each run gives its value.
struct Input {
  Input() = default;
  Input(const Tensor* tensor) : tensor(tensor) {}
  Input(const Scalar& scalar, int slot = -1) : slot(slot), scalar(scalar) {}

  const Tensor* tensor = nullptr;
  int32_t slot = -1;
  Scalar scalar;
};

/// Its elements may be read at once, by a thread that keeps others from issuing (with the GIL):
/// they are at most `most` bytes, on the host and settled, and what happens without an instruction
/// is nobody's business.
inline bool at_hand(const vm::VirtualMachine& machine, const Tensor& x, int64_t most) {
  return x.storage->on_host() && x.size() * static_cast<int64_t>(size_of(x.dtype)) <= most &&
         x.storage->is_settled() && machine.may_act_at_once();
}
/// The same, and row-major.
inline bool readable_here(const vm::VirtualMachine& machine, const Tensor& x, int64_t most) {
  return x.contiguous() && at_hand(machine, x, most);
}

Tensor elementwise(const Issuer& issuer, const ops::OpDef& op, const ops::Resolution& resolution,
                   const Input* inputs);
/// The same into a tensor that is there, of the broadcast shape.
void elementwise_into(const Issuer& issuer, const ops::OpDef& op, const ops::Resolution& resolution,
                      const Input* inputs, const Tensor& out);

/// condition ? x : y; x and y already have `dtype` (scalars included).
Tensor where(const Issuer& issuer, const Input* inputs, DType dtype, Device device);

/// Reduces over `reduced` axes with the op's binary loop; `initial` (may be null): in
/// resolution.result.
Tensor reduce(const Issuer& issuer, const ops::OpDef& op, const ops::Resolution& resolution,
              const Tensor& x, AxisSet reduced, const Scalar* initial, bool keepdims);

/// Index of the first extremum along `axis`, or over the row-major order of all elements (axis -1).
Tensor arg_reduce(const Issuer& issuer, const char* name, const Tensor& x, int axis, bool keepdims,
                  bool minimum);

Tensor matmul(const Issuer& issuer, const ops::OpDef& op, const ops::Resolution& resolution,
              const Tensor& a, const Tensor& b);
/// out = the product of two vectors, of which the first is conjugated, with the bits of the two
/// steps; false, and nothing done, where it takes both of them. The matmul op.
bool conjugated_product(const Issuer& issuer, const ops::OpDef& op,
                        const ops::Resolution& resolution, const Tensor& a, const Tensor& b,
                        Tensor* out);

Tensor empty(const Issuer& issuer, Device device, DType dtype, const Dims& shape);
/// Gives memory to a new tensor, which nothing has been done with.
Tensor empty(const Issuer& issuer, Tensor&& made);
/// Fills in `out` with a new tensor, of `value` or (null) of anything: when it is so small that its
/// storage holds the memory, and nobody observes. No instruction: nobody else has the tensor yet.
bool full_here(vm::VirtualMachine& machine, Device device, DType dtype, const Dims& shape,
               const Scalar* value, Tensor* out);
/// The same of more memory, whatever its size where `value` is null. False, too, where there is no
/// memory at once, or the device is at work.
bool full_now(const Issuer& issuer, Device device, DType dtype, const Dims& shape,
              const Scalar* value, Tensor* out);
/// `value` is a scalar of the dtype of the result.
Tensor full(const Issuer& issuer, Device device, DType dtype, const Dims& shape,
            const Input& value);
/// Fills a new tensor, which nothing has been done with.
Tensor full(const Issuer& issuer, Tensor&& made, const Input& value);

/// A row-major copy with another dtype (or the same).
Tensor cast_copy(const Issuer& issuer, const Tensor& x, DType dtype, const char* name);
/// The same, laid out like `x` (NumPy's order K).
Tensor cast_like(const Issuer& issuer, const Tensor& x, DType dtype, const char* name);
/// `x` itself when it is row-major, else a copy.
Tensor contiguous(const Issuer& issuer, const Tensor& x);

/// target[...] = value, with broadcasting and casting; both on one device.
void assign(const Issuer& issuer, const Tensor& target, const Tensor& value, const char* name);
void fill(const Issuer& issuer, const Tensor& target, const Input& value, const char* name);

/// Along `axis`; all have the same dtype, device and other dimensions (checked).
Tensor concatenate(const Issuer& issuer, const std::vector<Tensor>& parts, int axis);

// --- between devices

/// A copy on `device` (`x` itself when it lies there and `copy` is false).
Tensor to_device(const Issuer& issuer, const Tensor& x, Device device, bool copy);

/// The same for a row-major tensor and a new one that lies like it, on different devices; one is
/// the host, or both are of one type.
void transfer_to(const Issuer& issuer, const Tensor& source, const Tensor& target);
/// A new tensor gets memory, of any values.
void allocate(const Issuer& issuer, const Tensor& x);

/// Host elements, row-major, into a new tensor; `data` may be changed as soon as this returns.
Tensor from_host(const Issuer& issuer, const void* data, DType dtype, const Dims& shape,
                 Device device);

/// The value of `x` as a finished row-major host tensor of its own. Waits for `x` only; throws what
/// made it fail.
Tensor look(const Issuer& issuer, const Tensor& x, const char* reason);

/// Error(value) naming both devices unless they are the same.
void require_same_device(const char* op, Device a, Device b);

}  // namespace ofl
