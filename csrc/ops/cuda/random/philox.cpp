// Counted random numbers on a device.
#include "ops/random/philox.h"
#include "ops/cuda/launching.h"
#include "ops/cuda/layout/random.h"
#include "ops/cuda/programs.h"
#include "ops/random/window.h"

namespace ofl::ops::cuda {

namespace {

/// Compared as bytes.
struct Key {
  const DrawRow* row;
  int64_t is_window;
};

KernelRequest make_request(const DrawRow& row, bool is_window) {
  KernelRequest request;
  request.kind = "random";
  request.op = row.name;
  request.dtypes = request.loop = {row.dtype};
  request.flat = request.wide = true;
  if (is_window) request.options = {1};
  request.args_bytes = is_window ? sizeof(layout::DrawWindowArgs) : sizeof(layout::DrawArgs);
  return request;
}

layout::DrawWindowArgs on_device(const DrawWindow& window, const layout::DrawArgs& draw,
                                 int64_t per_counter) {
  layout::DrawWindowArgs args{};
  args.draw = draw;
  args.first = window.first;
  args.length = window.length;
  args.rows = window.rows;
  args.counters = (window.length + per_counter - 2) / per_counter + 1;
  args.axes = window.axes.size();
  for (int d = 0; d < window.axes.size(); ++d) {
    args.extents[d] = window.axes[d].extent;
    args.steps[d] = window.axes[d].step;
  }
  return args;
}

}  // namespace

bool launch_philox(Launching& launching, const ArrayArgs& args) {
  static Programs<Key>& programs = *new Programs<Key>;
  const DrawRow& row = draw_row(args);
  const auto word = [&args](size_t k) { return static_cast<layout::uint64>(args.attr[k]); };
  const int64_t count = element_count(args.output(0).shape);
  const layout::DrawArgs draw{count,      args.output(0).data, word(kKey),
                              word(kLow), word(kHigh),         {word(kFirst), word(kSecond)}};
  if (count == 0) return true;
  const bool is_window = has_window(args);
  void* kernel =
      programs.get(launching, {&row, is_window}, [&] { return make_request(row, is_window); });
  if (!kernel) return false;
  const int64_t per_counter = layout::kCounterWords / row.words;
  if (is_window) {
    const layout::DrawWindowArgs part = on_device(window_of(args), draw, per_counter);
    launching.run(kernel, part.rows * part.counters, part);
  } else {
    launching.run(kernel, (count + per_counter - 1) / per_counter, draw);
  }
  return true;
}

}  // namespace ofl::ops::cuda
