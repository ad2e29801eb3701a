#include "ops/device_kernels.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "ops/through_host.h"

namespace ofl::ops {

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
static_assert(std::has_unique_object_representations_v<Key>);

std::string_view bytes_of(const Key& key) {
  return {reinterpret_cast<const char*>(&key), sizeof(key)};
}
struct KeyHash {
  size_t operator()(const Key& key) const { return std::hash<std::string_view>()(bytes_of(key)); }
};
struct KeyEqual {
  bool operator()(const Key& a, const Key& b) const { return bytes_of(a) == bytes_of(b); }
};

/// Kernels by device; null: there is none. Never destroyed: workers may outlive statics.
struct Known {
  std::atomic<bool> used{true};
  std::mutex mutex;  // guards the rest
  KernelMaker maker;
  std::unordered_map<const ep::Device*, std::unordered_map<Key, void*, KeyHash, KeyEqual>> kernels;
};

Known& known() {
  static Known* the_known = new Known;
  return *the_known;
}

const char* kind_of(KernelFn kernel) {
  if (kernel == elementwise_kernel) return "elementwise";
  if (kernel == copy_kernel || kernel == fill_kernel) return "copy";
  return kernel == where_kernel ? "where" : nullptr;
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

KernelRequest make_request(const KernelArgs& args, const DeviceArgs& on_device) {
  constexpr int64_t kNarrow = int64_t{1} << 31;
  KernelRequest request{};
  const int inputs = inputs_of(args), last = args.iteration.operands - 1;
  request.kind = kind_of(args.kernel);
  request.operands = inputs + 1;
  request.flat = args.iteration.ndim <= 1;
  request.wide = on_device.count >= kNarrow;
  for (int k = 0; k <= inputs; ++k) {
    const int source = source_of(args, k);
    request.dtype[k] = source < 0 ? args.dtype[last] : args.dtype[source];
    request.loop[k] = request.dtype[k];
    if (is_scalar(args, k)) {
      request.scalar[k] = true;
      continue;
    }
    const auto size = static_cast<int64_t>(size_of(request.dtype[k]));
    if (args.iteration.ndim == 1 && on_device.strides[0][k] != size) request.flat = false;
    const Extent extent = extent_of(args, source);
    if (extent.high - extent.low >= kNarrow) request.wide = true;
  }
  if (args.op) {
    request.op = args.op->name;
    for (int k = 0; k < inputs; ++k) request.loop[k] = args.resolution->in[k];
    request.loop[inputs] = args.resolution->out;
  }
  return request;
}

Key key_of(const KernelArgs& args, const KernelRequest& request) {
  Key key{args.kernel, args.op, args.resolution, {}, 0, request.flat, request.wide, 0};
  for (int k = 0; k < request.operands; ++k) key.dtype[k] = request.dtype[k];
  for (int k = 0; k + 1 < request.operands; ++k) key.scalars |= request.scalar[k] << k;
  return key;
}

/// The function, or null. Two threads that both miss it make it twice, and the first one stays.
void* find_kernel(ep::Device& device, const Key& key, const KernelRequest& request) {
  KernelMaker maker;
  {
    std::lock_guard<std::mutex> lock(known().mutex);
    const auto& kernels = known().kernels[&device];
    const auto found = kernels.find(key);
    if (found != kernels.end()) return found->second;
    maker = known().maker;
  }
  const std::string image = maker ? maker(request, device.architecture()) : "";
  void* kernel = image.empty() ? nullptr : device.load_kernel(image, "kernel");
  std::lock_guard<std::mutex> lock(known().mutex);
  return known().kernels[&device].emplace(key, kernel).first->second;
}

}  // namespace

void set_kernel_maker(KernelMaker maker) {
  std::lock_guard<std::mutex> lock(known().mutex);
  known().maker = std::move(maker);
}

void use_device_kernels(bool on) { known().used.store(on, std::memory_order_relaxed); }

bool launch_on_device(ep::Stream& queue, const KernelCall& call) {
  const KernelArgs& args = call.args;
  if (!kind_of(args.kernel) || !known().used.load(std::memory_order_relaxed)) return false;
  // The text of a row has NumPy's special values; and a negative exponent of an integer power is an
  // error, which only a look at all exponents finds.
  if (args.op && (args.op->standard_values ||
                  (args.op->checks_exponent && is_integer(args.resolution->in[1])))) {
    return false;
  }
  const std::optional<DeviceArgs> on_device = device_args(args);
  if (!on_device) return false;
  if (on_device->count == 0) return true;
  const KernelRequest request = make_request(args, *on_device);
  void* kernel = find_kernel(queue.device(), key_of(args, request), request);
  if (!kernel) return false;
  queue.launch(ep::DeviceKernel{kernel, on_device->count, 0, &*on_device, sizeof(*on_device)});
  return true;
}

}  // namespace ofl::ops
