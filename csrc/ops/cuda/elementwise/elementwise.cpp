// Elementwise operations, copies with casts, fills and `where` on a device.
#include <algorithm>
#include <cstring>

#include "ops/cuda/divisor.h"
#include "ops/cuda/elementwise/elementwise.h"
#include "ops/cuda/launching.h"
#include "ops/cuda/layout/elementwise.h"
#include "ops/cuda/programs.h"
#include "ops/elementwise/exponents.h"
#include "ops/loop_args.h"

namespace ofl::ops::cuda {

namespace {

using layout::ElementwiseRow;

/// With as many rows as any kernel takes: `ndim` are used, and the others that it takes are 0.
using DeviceArgs = layout::ElementwiseArgs<kMaxDims>;

static_assert(layout::kOperands == kMaxOperands && layout::kMostDims == kMaxDims);

/// How the operands lie, and what loop that makes.
struct Layout {
  bool flat = false, wide = false;
  uint8_t lanes = 1;
  uint8_t form = layout::kStrided;
  uint8_t spread = 0;  // bit k: input k stands still within a row
  uint8_t rows = 0;    // that the argument has room for
};

/// What calls that share a kernel have in common; compared as bytes.
struct Key {
  const OpDef* op;
  const Resolution* resolution;
  DType dtype[kMaxOperands];
  KernelId kernel;
  uint8_t scalars;
  Layout layout;
  uint8_t unused[4];
};

/// A fill is a copy of one value: it has no input of its own.
int inputs_of(const LoopArgs& args) {
  return args.kernel == KernelId::fill ? 1 : args.iteration.operands - 1;
}

/// The operand of the call behind operand k of the kernel; -1: the value of a fill.
int source_of(const LoopArgs& args, int k) { return args.kernel == KernelId::fill ? k - 1 : k; }

bool is_scalar(const LoopArgs& args, int k) {
  const int source = source_of(args, k);
  return source < 0 || !args.data[source];
}

/// As operand k lies in memory; the value of a fill is of the output's dtype.
DType dtype_of(const LoopArgs& args, int k) {
  const int source = source_of(args, k);
  return args.dtype[source < 0 ? args.iteration.operands - 1 : source];
}

int64_t bytes_of(const LoopArgs& args, int k) {
  return static_cast<int64_t>(size_of(dtype_of(args, k)));
}

void fill_in(const LoopArgs& args, DeviceArgs* out) {
  const Iteration& iteration = args.iteration;
  const int inputs = inputs_of(args);
  out->ndim = iteration.ndim;
  for (int d = 0; d < iteration.ndim; ++d) {
    ElementwiseRow& row = out->rows[d];
    row = ElementwiseRow{iteration.rows[d].dim, {}, {}};
    out->count *= row.dim;
    for (int k = 0; k <= inputs; ++k) {
      if (!is_scalar(args, k)) row.strides[k] = iteration.rows[d].strides[source_of(args, k)];
    }
  }
  for (int k = 0; k <= inputs; ++k) {
    if (!is_scalar(args, k)) {
      out->data[k] = args.data[source_of(args, k)];
    } else {
      std::memcpy(out->scalars[k], args.scalars[k].bytes, sizeof(out->scalars[k]));
    }
  }
}

/// Elements or byte offsets that 31 bits do not hold.
bool is_wide(const LoopArgs& args, const DeviceArgs& on_device) {
  using layout::kNarrow;
  if (on_device.count >= kNarrow) return true;
  for (int k = 0; k <= inputs_of(args); ++k) {
    if (is_scalar(args, k)) continue;
    const Extent extent = args.extent(source_of(args, k));
    if (extent.high - extent.low >= kNarrow) return true;
  }
  return false;
}

/// Elements of a vector: 16 bytes of the narrowest operand, but no more than 32 of the widest.
int64_t most_lanes(const LoopArgs& args) {
  int64_t least = 16, most = 1;
  for (int k = 0; k <= inputs_of(args); ++k) {
    if (is_scalar(args, k)) continue;
    least = std::min(least, bytes_of(args, k));
    most = std::max(most, bytes_of(args, k));
  }
  return std::min(16 / least, 32 / most);
}

bool is_flat(const LoopArgs& args, const DeviceArgs& on_device) {
  if (on_device.ndim != 1) return on_device.ndim == 0;
  for (int k = 0; k <= inputs_of(args); ++k) {
    if (!is_scalar(args, k) && on_device.rows[0].strides[k] != bytes_of(args, k)) return false;
  }
  return true;
}

/// Operand k starts a row where a vector of so many bytes may, in every row.
bool is_aligned(const DeviceArgs& args, int k, int64_t bytes) {
  if (reinterpret_cast<uintptr_t>(args.data[k]) % static_cast<uintptr_t>(bytes) != 0) return false;
  for (int d = 0; d + 1 < args.ndim; ++d) {
    if (args.rows[d].strides[k] % bytes != 0) return false;
  }
  return true;
}

/// Makes the innermost row one of vectors; false: it cannot be.
bool use_vectors(const LoopArgs& args, int64_t lanes, DeviceArgs* on_device, Layout* layout) {
  ElementwiseRow& inner = on_device->rows[on_device->ndim - 1];
  const int last = inputs_of(args);
  if (inner.dim % lanes != 0 || inner.strides[last] == 0) return false;
  uint8_t spread = 0;
  for (int k = 0; k <= last; ++k) {
    if (is_scalar(args, k)) continue;
    const int64_t bytes = bytes_of(args, k);
    if (inner.strides[k] == 0) {
      spread |= 1u << k;
    } else if (inner.strides[k] != bytes || !is_aligned(*on_device, k, lanes * bytes)) {
      return false;
    }
  }
  inner.dim /= lanes;
  for (layout::int64& stride : inner.strides) stride *= lanes;
  on_device->count /= lanes;
  layout->lanes = static_cast<uint8_t>(lanes);
  layout->form = layout::kRowsOfVectors;
  layout->spread = spread;
  return true;
}

/// Makes a copy one of tiles, with the row that is contiguous in the input before the last one,
/// which is contiguous in the output; false: it cannot be, or is not worth it.
bool use_tiles(const LoopArgs& args, DeviceArgs* on_device, Layout* layout) {
  constexpr int64_t kWorth = layout::kTileSide / 2;
  if (args.kernel != KernelId::copy || is_scalar(args, 0) || on_device->ndim < 2) return false;
  ElementwiseRow* const end = on_device->rows + on_device->ndim;
  const ElementwiseRow& along = end[-1];
  if (along.strides[1] != bytes_of(args, 1) || along.strides[0] == 0 || along.dim < kWorth ||
      along.strides[0] == bytes_of(args, 0)) {
    return false;
  }
  ElementwiseRow* const across =
      std::find_if(on_device->rows, end - 1, [&](const ElementwiseRow& row) {
        return row.strides[0] == bytes_of(args, 0) && row.dim >= kWorth;
      });
  if (across == end - 1) return false;
  std::rotate(across, across + 1, end - 1);
  const auto tiles = [](const ElementwiseRow& row) {
    return (row.dim + layout::kTileSide - 1) / layout::kTileSide;
  };
  on_device->count = on_device->count / along.dim / end[-2].dim * tiles(along) * tiles(end[-2]);
  layout->form = layout::kTiles;
  return true;
}

/// Chooses the loop, and changes the rows to what it wants.
Layout lay_out(const LoopArgs& args, DeviceArgs* on_device) {
  Layout layout;
  layout.wide = is_wide(args, *on_device);
  const int64_t lanes = most_lanes(args);
  if (is_flat(args, *on_device)) {
    layout.flat = true;
    layout.lanes = static_cast<uint8_t>(lanes);
    return layout;
  }
  layout.rows = layout::kFewRows;
  if (on_device->ndim > layout::kFewRows) layout.rows = layout::kMostDims;
  // A word of an earlier call could pass for an address.
  std::fill(on_device->rows + on_device->ndim, on_device->rows + layout.rows, ElementwiseRow{});
  if (use_tiles(args, on_device, &layout)) return layout;
  for (int64_t fewer = lanes; fewer > 1; fewer /= 2) {
    if (use_vectors(args, fewer, on_device, &layout)) break;
  }
  return layout;
}

KernelRequest make_request(const LoopArgs& args, const Layout& layout) {
  KernelRequest request = elementwise_request(args);
  request.flat = layout.flat;
  request.wide = layout.wide;
  request.args_bytes = sizeof(layout::ElementwiseHead) + layout.rows * sizeof(ElementwiseRow);
  const bool standard = args.op && args.resolution->standard_values;
  request.options = {layout.lanes, layout.form, layout.spread, layout.rows, standard};
  for (int k = 0; k < inputs_of(args); ++k) request.scalars.push_back(is_scalar(args, k));
  return request;
}

Key key_of(const LoopArgs& args, const Layout& layout) {
  Key key{args.op, args.resolution, {}, args.kernel, 0, layout, {}};
  const int inputs = inputs_of(args);
  for (int k = 0; k <= inputs; ++k) {
    key.dtype[k] = dtype_of(args, k);
    if (k < inputs) key.scalars |= is_scalar(args, k) << k;
  }
  return key;
}

/// A negative exponent of an integer power is an error, which the kernel finds.
void report_exponents(Launching& launching, DeviceArgs* on_device) {
  const std::string name = launching.name();
  on_device->fault = launching.report(1, [name](int, int64_t) { return negative_exponent(name); });
}

}  // namespace

KernelRequest elementwise_request(const LoopArgs& args) {
  KernelRequest request;
  const int inputs = inputs_of(args);
  request.kind = args.form().program;
  for (int k = 0; k <= inputs; ++k) request.dtypes.push_back(dtype_of(args, k));
  request.loop = request.dtypes;
  if (args.op) {
    request.op = args.op->name;
    for (int k = 0; k < inputs; ++k) request.loop[k] = args.resolution->in[k];
    request.loop[inputs] = args.resolution->out;
  }
  return request;
}

bool launch_elementwise(Launching& launching, const LoopArgs& args) {
  DeviceArgs on_device;
  fill_in(args, &on_device);
  if (on_device.count == 0) return true;
  const Layout layout = lay_out(args, &on_device);
  for (int d = 0; d < on_device.ndim && !layout.wide; ++d) {
    on_device.rows[d].divisor = divisor_of(on_device.rows[d].dim);
  }
  static Programs<Key>& programs = *new Programs<Key>;
  void* kernel =
      programs.get(launching, key_of(args, layout), [&] { return make_request(args, layout); });
  if (!kernel) return false;
  if (args.op && args.op->checks_exponent && is_integer(args.resolution->in[1])) {
    report_exponents(launching, &on_device);
  }
  const int64_t flat_items = (on_device.count + layout.lanes - 1) / layout.lanes;
  launching.run(kernel,
                layout.form == layout::kTiles ? on_device.count * layout::kThreads
                : layout.flat                 ? flat_items
                                              : on_device.count,
                on_device);
  return true;
}

}  // namespace ofl::ops::cuda
