// Elementwise operations, copies with casts, fills and `where` on a device.
#include <cstring>
#include <optional>

#include "ops/device/launching.h"
#include "ops/device/programs.h"
#include "ops/kernel.h"
#include "ops/through_host.h"

namespace ofl::ops::device {

namespace {

constexpr int kDeviceDims = 8;

/// The argument of every kernel, laid out as its source has it.
struct DeviceArgs {
  int64_t count = 0;
  void* data[kMaxOperands] = {};
  unsigned char scalars[kMaxInputs][16] = {};
  int32_t ndim = 0, unused = 0;
  int64_t dims[kDeviceDims] = {};
  int64_t strides[kDeviceDims][kMaxOperands] = {};
};

/// What calls that share a kernel have in common; compared as bytes.
struct Key {
  KernelFn kernel;
  const OpDef* op;
  const Resolution* resolution;
  DType dtype[kMaxOperands];
  uint8_t scalars, flat, wide, unused;
};
const char* kind_of(KernelFn kernel) {
  if (kernel == elementwise_kernel) return "elementwise";
  if (kernel == copy_kernel || kernel == fill_kernel) return "copy";
  return "where";
}

/// A fill is a copy of one value: it has no input of its own.
int inputs_of(const KernelArgs& args) {
  return args.kernel == fill_kernel ? 1 : args.iteration.operands - 1;
}

/// The operand of the call behind operand k of the kernel; -1: the value of a fill.
int source_of(const KernelArgs& args, int k) { return args.kernel == fill_kernel ? k - 1 : k; }

bool is_scalar(const KernelArgs& args, int k) {
  const int source = source_of(args, k);
  return source < 0 || !args.data[source];
}

/// nullopt: more dimensions than a kernel takes.
std::optional<DeviceArgs> device_args(const KernelArgs& args) {
  const Iteration& iteration = args.iteration;
  if (iteration.ndim > kDeviceDims) return std::nullopt;
  DeviceArgs out;
  const int inputs = inputs_of(args);
  out.count = 1;
  out.ndim = iteration.ndim;
  for (int d = 0; d < iteration.ndim; ++d) {
    out.count *= iteration.rows[d].dim;
    out.dims[d] = iteration.rows[d].dim;
    for (int k = 0; k <= inputs; ++k) {
      if (!is_scalar(args, k)) out.strides[d][k] = iteration.rows[d].strides[source_of(args, k)];
    }
  }
  for (int k = 0; k <= inputs; ++k) {
    if (!is_scalar(args, k)) {
      out.data[k] = args.data[source_of(args, k)];
    } else {
      std::memcpy(out.scalars[k], args.scalars[k].bytes, sizeof(out.scalars[k]));
    }
  }
  return out;
}

/// How the operands lie.
struct Layout {
  bool flat, wide;
};

Layout layout_of(const KernelArgs& args, const DeviceArgs& on_device) {
  constexpr int64_t kNarrow = int64_t{1} << 31;
  Layout layout{args.iteration.ndim <= 1, on_device.count >= kNarrow};
  for (int k = 0; k <= inputs_of(args); ++k) {
    if (is_scalar(args, k)) continue;
    const int source = source_of(args, k);
    const auto size = static_cast<int64_t>(size_of(args.dtype[source]));
    if (args.iteration.ndim == 1 && on_device.strides[0][k] != size) layout.flat = false;
    const Extent extent = extent_of(args, source);
    if (extent.high - extent.low >= kNarrow) layout.wide = true;
  }
  return layout;
}

/// As operand k lies in memory; the value of a fill is of the output's dtype.
DType dtype_of(const KernelArgs& args, int k) {
  const int source = source_of(args, k);
  return args.dtype[source < 0 ? args.iteration.operands - 1 : source];
}

KernelRequest make_request(const KernelArgs& args, const Layout& layout) {
  KernelRequest request;
  const int inputs = inputs_of(args);
  request.kind = kind_of(args.kernel);
  request.flat = layout.flat;
  request.wide = layout.wide;
  for (int k = 0; k <= inputs; ++k) {
    request.dtypes.push_back(dtype_of(args, k));
    if (k < inputs) request.scalars.push_back(is_scalar(args, k));
  }
  request.loop = request.dtypes;
  if (args.op) {
    request.op = args.op->name;
    for (int k = 0; k < inputs; ++k) request.loop[k] = args.resolution->in[k];
    request.loop[inputs] = args.resolution->out;
  }
  return request;
}

Key key_of(const KernelArgs& args, const Layout& layout) {
  Key key{args.kernel, args.op, args.resolution, {}, 0, layout.flat, layout.wide, 0};
  const int inputs = inputs_of(args);
  for (int k = 0; k <= inputs; ++k) {
    key.dtype[k] = dtype_of(args, k);
    if (k < inputs) key.scalars |= is_scalar(args, k) << k;
  }
  return key;
}

}  // namespace

bool launch_elementwise(Launching& launching, const KernelArgs& args) {
  static Programs<Key>& programs = *new Programs<Key>;
  // The text of a row has NumPy's special values; and a negative exponent of an integer power is an
  // error, which only a look at all exponents finds.
  if (args.op && (args.op->standard_values ||
                  (args.op->checks_exponent && is_integer(args.resolution->in[1])))) {
    return false;
  }
  const std::optional<DeviceArgs> on_device = device_args(args);
  if (!on_device) return false;
  if (on_device->count == 0) return true;
  const Layout layout = layout_of(args, *on_device);
  void* kernel = programs.get(launching.device(), key_of(args, layout),
                              [&] { return make_request(args, layout); });
  if (!kernel) return false;
  launching.run(kernel, on_device->count, *on_device);
  return true;
}

}  // namespace ofl::ops::device
