// Counted random numbers on a device.
#include "ops/random/philox.h"
#include "ops/cuda/launching.h"
#include "ops/cuda/programs.h"

namespace ofl::ops::cuda {

namespace {

/// DrawArgs of random.cuh.
struct DrawArgs {
  int64_t count;
  char* out;
  int64_t key, low, high;
  int64_t parameters[2];
};

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
  return request;
}

}  // namespace

bool launch_philox(Launching& launching, const ArrayArgs& args) {
  static Programs<Key>& programs = *new Programs<Key>;
  constexpr int kWords = 4;  // of a counter
  const DrawRow& row = draw_row(args);
  const std::vector<int64_t>& attr = args.attr;
  DrawArgs on_device{1, args.output(0).data, attr[1], attr[2], attr[3], {attr[4], attr[5]}};
  for (int64_t dim : args.output(0).shape) on_device.count *= dim;
  if (on_device.count == 0) return true;
  void* kernel = programs.get(launching, {&row}, [&] { return make_request(row); });
  if (!kernel) return false;
  const int64_t per_counter = kWords / row.words;
  launching.run(kernel, (on_device.count + per_counter - 1) / per_counter, on_device);
  return true;
}

}  // namespace ofl::ops::cuda
