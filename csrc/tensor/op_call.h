// A call of dispatch as a value: everything but its operands. A program keeps its operations so;
// replay.h makes calls again.
#pragma once

#include <memory>
#include <vector>

#include "ops/array_args.h"
#include "tensor/issue.h"

namespace ofl {

enum class CallKind : uint8_t {
  elementwise,  // op(inputs)
  where,        // condition ? x : y
  copy,         // attr: is the result laid out like the input, or row-major
  fill,         // of one scalar
  empty,
  reduce,      // attr: bits of the reduced axes, keepdims; inputs: x, and maybe the initial value
  arg_reduce,  // attr: axis, keepdims, minimum
  matmul,
  concat,    // attr: axis
  transfer,  // to another device
  array,     // a kernel of arrays; attr: the kernel's
  view,      // elements of the operand's memory; attr: dtype, bytes from its first element, shape,
             // strides
  host,      // a function of the host: inputs are read, outputs written
  source,    // made on the host before each run; no inputs
};
inline constexpr const char* kCallKindNames[] = {
    "elementwise", "where",  "copy",     "fill",  "empty", "reduce", "arg_reduce",
    "matmul",      "concat", "transfer", "array", "view",  "host",   "source"};
inline constexpr int kCallKinds = sizeof(kCallKindNames) / sizeof(kCallKindNames[0]);
/// What fusion may do with a kind of calls; the rows of operations and kernels say it of others.
inline constexpr ops::Pattern kCallPatterns[] = {
    ops::Pattern::elementwise, ops::Pattern::elementwise, ops::Pattern::elementwise,
    ops::Pattern::elementwise, ops::Pattern::opaque,      ops::Pattern::reduction,
    ops::Pattern::reduction,   ops::Pattern::out_fusable, ops::Pattern::injective,
    ops::Pattern::opaque,      ops::Pattern::opaque,      ops::Pattern::injective,
    ops::Pattern::opaque,      ops::Pattern::opaque};
static_assert(sizeof(kCallPatterns) / sizeof(kCallPatterns[0]) == kCallKinds);

/// A result that the call cannot infer from its operands.
struct NewTensor {
  DType dtype;
  Dims shape, strides;
};

class HostObject;

struct OpCall {
  OpCall(CallKind kind, const char* name) : kind(kind), name(name) {}

  CallKind kind;
  const char* name;                             // of the operation; outlives the machine
  const ops::OpDef* op = nullptr;               // elementwise, reduce, matmul
  const ops::Resolution* resolution = nullptr;  // of these
  ops::KernelId kernel{};                       // array
  ops::Loop loop;                               // array
  double elements = -1;                         // array: as in ArrayPlan
  SmallVector<int64_t, 8> attr;                 // see CallKind
  uint32_t targets = 0;                         // bit k: output k is written where it is
  std::vector<NewTensor> made;                  // fill, empty, array, source; of copy, where: dtype
  Device device;                                // where, fill, empty, transfer, array, source
  std::shared_ptr<const HostObject> object;     // host: the function; source; array: a generator
};

/// What fusion may do with a call: by its operation or its kernel, else by its kind.
inline ops::Pattern pattern_of(const OpCall& call) {
  if (call.kind == CallKind::array) return ops::info(call.kernel).pattern;
  return call.op ? call.op->pattern : kCallPatterns[static_cast<int>(call.kind)];
}

/// Takes calls instead of the machine. Dispatch tells it of each once its operands are checked and
/// the types of its results are known; then nothing is submitted.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void take(vm::SiteId site, OpCall&& call, const Input* inputs, int count,
                    const Tensor* const* outputs, int output_count) = 0;
  /// `result` has these values, which nobody changes.
  virtual void constant(vm::SiteId site, const Tensor& result, Tensor&& value) = 0;
  /// Throws: what is to be done, named by its operation, needs values. `x` may be null.
  [[noreturn]] virtual void refuse(vm::SiteId site, const char* op, const Tensor* x) = 0;
};

/// The issuer's sink takes a call with one output: a new tensor, or (`is_target`) one that the call
/// writes to.
Tensor take_one(const Issuer& issuer, OpCall&& call, const Input* inputs, int count,
                const Tensor& output, bool is_target = false);

/// It takes a call of kind source: new tensors of the types in `made`.
std::vector<Tensor> take_source(const Issuer& issuer, const OpCall& call);

}  // namespace ofl
