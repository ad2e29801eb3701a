// Convolutions on a device, and copies between the layouts of images.
#include "ops/cuda/layout/convolution.h"
#include "ops/convolution/geometry.h"
#include "ops/convolution/layout_transform.h"
#include "ops/cuda/launching.h"
#include "ops/cuda/programs.h"

namespace ofl::ops::cuda {

namespace {

using layout::ConvolutionArgs;

/// How a block and its threads divide a tile of the result; the template's numbers.
struct Tile {
  int rows, columns, depth, own_rows, own_columns;
  int threads() const { return rows / own_rows * (columns / own_columns); }
};
constexpr Tile kTiles[] = {{64, 64, 16, 4, 4}, {32, 32, 16, 2, 2}};
constexpr int64_t kMostBlocks = int64_t{1} << 30;

/// What calls that share a kernel have in common; compared as bytes.
struct Key {
  DType dtype;
  uint8_t is_product, tile;
};

void set_steps(const ArrayView& x, layout::int64* steps) {
  for (int d = 0; d < x.strides.size(); ++d) steps[d] = x.strides[d];
}

ConvolutionArgs args_of(const Convolution& c, const ArrayView& x, const ArrayView& w,
                        const ArrayView& y, layout::ConvolutionForm form) {
  ConvolutionArgs args;
  args.images = x.data;
  args.weights = w.data;
  args.results = y.data;
  set_steps(x, args.image_steps);
  set_steps(w, args.weight_steps);
  set_steps(y, args.result_steps);
  args.lanes = c.is_blocked ? kChannelBlock : 1;
  args.count = c.images;
  args.groups = c.groups;
  args.in = c.in;
  args.out = c.out;
  const WindowAxis* const axes[] = {&c.y, &c.x};
  for (int d = 0; d < 2; ++d) {
    args.image[d] = axes[d]->image;
    args.window[d] = axes[d]->window;
    args.places[d] = axes[d]->places;
    args.stride[d] = axes[d]->stride;
    args.before[d] = axes[d]->before;
    args.dilation[d] = axes[d]->dilation;
  }
  args.form = form;
  const int64_t places = c.images * c.places();
  switch (form) {
    case layout::kForward: args.m = c.out, args.k = c.in * c.window(), args.n = places; break;
    case layout::kInputGradient:
      args.m = c.in, args.k = c.out * c.window(), args.n = c.images * c.y.image * c.x.image;
      break;
    case layout::kWeightGradient:
      args.m = c.out, args.k = places, args.n = c.in * c.window();
      break;
  }
  return args;
}

void take_tables(Launching& launching, ConvolutionArgs* args) {
  const bool is_of_weights = args->form == layout::kWeightGradient;
  const int64_t positions = is_of_weights ? args->k : args->n;
  const int64_t taps = is_of_weights ? args->n : args->k, rows = args->groups * args->m;
  args->positions = launching.scratch_of<layout::Tap>(std::max<int64_t>(positions, 1));
  args->position_offsets = launching.scratch_of<layout::int64>(std::max<int64_t>(positions, 1));
  args->taps = launching.scratch_of<layout::Tap>(std::max<int64_t>(args->groups * taps, 1));
  args->weight_offsets = launching.scratch_of<layout::int64>(std::max<int64_t>(taps, 1));
  args->a_rows = launching.scratch_of<layout::int64>(rows);
  args->out_rows = launching.scratch_of<layout::int64>(rows);
}

KernelRequest make_request(const Key& key) {
  KernelRequest request;
  request.kind = "convolution";
  request.op = key.is_product ? "product" : "tables";
  request.dtypes.assign(3, key.dtype);
  request.loop = request.dtypes;
  request.wide = true;
  request.args_bytes = sizeof(ConvolutionArgs);
  const Tile& tile = kTiles[key.tile];
  if (key.is_product) {
    request.options = {tile.rows, tile.columns, tile.depth, tile.own_rows, tile.own_columns};
  }
  return request;
}

void* program(Launching& launching, const Key& key) {
  static Programs<Key>& programs = *new Programs<Key>;
  return programs.get(launching, key, [&] { return make_request(key); });
}

int64_t divided(int64_t x, int64_t y) { return (x + y - 1) / y; }

/// The small tile where the large one leaves processors idle.
uint8_t choose_tile(ep::Device& device, const ConvolutionArgs& args) {
  const int64_t tiles =
      divided(args.m, kTiles[0].rows) * divided(args.n, kTiles[0].columns) * args.groups;
  return args.m <= kTiles[1].rows || tiles < 2 * device.multiprocessors() ? 1 : 0;
}

bool launch(Launching& launching, const ArrayArgs& call, const ArrayView& x, const ArrayView& w,
            const ArrayView& y, layout::ConvolutionForm form) {
  const Convolution c = convolution_of(call, x, w, y);
  if (element_count(call.output(0).shape) == 0) return true;
  ConvolutionArgs args = args_of(c, x, w, y, form);
  // Places are numbers of 32 bits in the tables.
  constexpr int64_t kMost = layout::kNarrow / 2;
  if (c.y.padded() >= kMost || c.x.padded() >= kMost) return false;
  const DType dtype = call.output(0).dtype;
  const uint8_t choice = choose_tile(launching.device(), args);
  void* const tables = program(launching, {dtype, 0, 0});
  void* const product = program(launching, {dtype, 1, choice});
  if (!tables || !product) return false;
  take_tables(launching, &args);
  const bool is_of_weights = form == layout::kWeightGradient;
  const int64_t positions = is_of_weights ? args.k : args.n;
  const int64_t taps = is_of_weights ? args.n : args.k;
  launching.run(tables, positions + args.groups * (taps + args.m), args);
  const Tile& tile = kTiles[choice];
  const int64_t blocks = divided(args.m, tile.rows) * divided(args.n, tile.columns) * args.groups;
  launching.run_blocks(product, std::min(blocks, kMostBlocks), tile.threads(), 0, args);
  return true;
}

}  // namespace

bool launch_conv2d(Launching& launching, const ArrayArgs& args) {
  return launch(launching, args, args.input(0), args.input(1), args.output(0), layout::kForward);
}

bool launch_conv2d_input_gradient(Launching& launching, const ArrayArgs& args) {
  return launch(launching, args, args.output(0), args.input(1), args.input(0),
                layout::kInputGradient);
}

bool launch_conv2d_weight_gradient(Launching& launching, const ArrayArgs& args) {
  return launch(launching, args, args.input(0), args.output(0), args.input(1),
                layout::kWeightGradient);
}

bool launch_layout_transform(Launching& launching, const ArrayArgs& args) {
  if (element_count(args.output(0).shape) == 0) return true;
  return launch_elementwise(launching, copy_of_layout(args));
}

}  // namespace ofl::ops::cuda
