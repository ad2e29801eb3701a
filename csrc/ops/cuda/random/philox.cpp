// Counted random numbers on a device.
#include "ops/random/philox.h"
#include "ops/cuda/launching.h"
#include "ops/cuda/layout/random.h"
#include "ops/cuda/programs.h"

namespace ofl::ops::cuda {

namespace {

/// Compared as bytes.
struct Key {
  const DrawRow* row;
};

KernelRequest make_request(const DrawRow& row) {
  KernelRequest request;
  request.kind = "random";
  request.op = row.name;
  request.dtypes = request.loop = {row.dtype};
  request.flat = request.wide = true;
  request.args_bytes = sizeof(layout::DrawArgs);
  return request;
}

}  // namespace

bool launch_philox(Launching& launching, const ArrayArgs& args) {
  static Programs<Key>& programs = *new Programs<Key>;
  const DrawRow& row = draw_row(args);
  const auto word = [&args](size_t k) { return static_cast<layout::uint64>(args.attr[k]); };
  layout::DrawArgs on_device{1, args.output(0).data, word(1), word(2), word(3), {word(4), word(5)}};
  for (int64_t dim : args.output(0).shape) on_device.count *= dim;
  if (on_device.count == 0) return true;
  void* kernel = programs.get(launching, {&row}, [&] { return make_request(row); });
  if (!kernel) return false;
  const int64_t per_counter = layout::kCounterWords / row.words;
  launching.run(kernel, (on_device.count + per_counter - 1) / per_counter, on_device);
  return true;
}

}  // namespace ofl::ops::cuda
