// Running sums and their like on a device. How lanes are cut depends on shapes and strides alone,
// so that the bits of sums do, too.
#include <algorithm>
#include <cstdlib>

#include "ops/array_args.h"
#include "ops/cuda/axes.h"
#include "ops/cuda/launching.h"
#include "ops/cuda/layout/scan.h"
#include "ops/cuda/programs.h"

namespace ofl::ops::cuda {

namespace {

constexpr int kIn = 0;
constexpr int kOut = 1;
constexpr int64_t kThreads = layout::kScanThreads;
constexpr int64_t kEnoughBlocks = 1024;  // for every device that there is: no grid decides bits
constexpr int64_t kTilesAtOnce = 4;      // that one block scans rather than three launches
constexpr int64_t kLeastColumn = 64;     // elements of a chunk of a column
constexpr int64_t kBeside = 8;           // lanes beside each other that make columns worth while

using layout::ScanArgs;
using Form = layout::ScanForm;

struct Key {
  const char* ufunc;
  DType dtype;
  uint8_t form, of_values, wide;
  uint32_t associative;
};

struct Plan {
  Form form = layout::kScanRows;
  bool wide = false, associative = false;
  int64_t blocks = 1;
  int block_threads = 32;
  ScanArgs args;
};

void* program_for(Launching& launching, const ArrayArgs& call, const Plan& plan, Form form,
                  bool of_values) {
  static Programs<Key>& programs = *new Programs<Key>;
  const DType dtype = call.output(0).dtype;
  const Key key{call.loop.name, dtype,     static_cast<uint8_t>(form),
                of_values,      plan.wide, plan.associative};
  return programs.get(launching, key, [&] {
    KernelRequest request;
    request.kind = "scan";
    request.op = call.loop.name;
    request.dtypes = request.loop = {dtype, dtype};
    request.wide = plan.wide;
    request.args_bytes = sizeof(ScanArgs);
    request.options = {static_cast<int64_t>(form), plan.associative, of_values};
    return request;
  });
}

int64_t items_of(const ArrayArgs& call) {
  return layout::scan_items(static_cast<int>(size_of(call.output(0).dtype)));
}

bool can_be_vectors(const ScanArgs& args, int64_t item_size) {
  for (int k : {kIn, kOut}) {
    if (args.steps[k] != item_size) return false;
    if (reinterpret_cast<uintptr_t>(args.data[k]) % layout::kScanVectorBytes != 0) return false;
    for (int d = 0; d < args.ndim; ++d) {
      if (args.strides[d][k] % layout::kScanVectorBytes != 0) return false;
    }
  }
  return true;
}

void set_blocks(Plan* plan) {
  const ScanArgs& args = plan->args;
  if (plan->form == layout::kScanColumns) {
    plan->block_threads =
        static_cast<int>(std::clamp<int64_t>(next_power_of_two(args.lanes), 32, kThreads));
    plan->blocks = divide_up(args.lanes, plan->block_threads) * args.chunks;
    return;
  }
  const int64_t rows = args.lanes * args.chunks;
  plan->block_threads =
      static_cast<int>(std::clamp<int64_t>(next_power_of_two(rows) * args.threads, 32, kThreads));
  plan->blocks = divide_up(rows, plan->block_threads / args.threads);
}

/// Of a lane, as many chunks as leave no multiprocessor idle and pay for the other two launches.
void share(Plan* plan, int64_t items) {
  ScanArgs& args = plan->args;
  int64_t chunks = 1, unit = 1;
  if (plan->form == layout::kScanColumns) {
    chunks = std::min(args.count / kLeastColumn, kEnoughBlocks * kThreads / 4 / args.lanes);
  } else {
    unit = std::min(next_power_of_two(divide_up(args.count, items)), kThreads) * items;
    args.threads = static_cast<int32_t>(unit / items);
    chunks = std::min(args.count / (kTilesAtOnce * unit), kEnoughBlocks / args.lanes);
  }
  if (!plan->associative || chunks < 2) chunks = 1;
  args.chunk = divide_up(divide_up(args.count, chunks), unit) * unit;
  args.chunks = divide_up(args.count, args.chunk);
  set_blocks(plan);
}

/// nullopt: more dimensions than a kernel takes.
std::optional<Plan> plan_of(const ArrayArgs& call) {
  const ArrayView &in = call.input(0), &out = call.output(0);
  const auto along = static_cast<int>(call.attr[0]);
  std::vector<Axis> lanes;
  for (int d = 0; d < out.shape.size(); ++d) {
    if (d != along && out.shape[d] != 1) {
      lanes.push_back({out.shape[d], in.strides[d], out.strides[d], 0});
    }
  }
  const Shift shift = order_axes(&lanes);
  if (lanes.size() > layout::kScanAxes) return std::nullopt;
  Plan plan;
  plan.associative = call.attr[2] != 0;
  ScanArgs& args = plan.args;
  args.data[kIn] = in.data + shift.in;
  args.data[kOut] = out.data + shift.out;
  args.count = out.shape[along];
  args.steps[kIn] = in.strides[along];
  args.steps[kOut] = out.strides[along];
  args.ndim = static_cast<int32_t>(lanes.size());
  for (int d = 0; d < args.ndim; ++d) {
    args.dims[d] = lanes[d].dim;
    args.strides[d][kIn] = lanes[d].in;
    args.strides[d][kOut] = lanes[d].out;
  }
  const Reach reach = reach_of(lanes);
  args.lanes = reach.elements;
  const int64_t most = std::max(reach.in + args.count * std::abs(args.steps[kIn]),
                                reach.out + args.count * std::abs(args.steps[kOut]));
  plan.wide = most >= kNarrow || reach.elements >= kNarrow / std::max<int64_t>(args.count, 1);
  const bool beside = !lanes.empty() && lanes.back().dim >= kBeside &&
                      std::abs(lanes.back().out) < std::abs(args.steps[kOut]);
  plan.form = beside || !plan.associative ? layout::kScanColumns : layout::kScanRows;
  args.vectors = can_be_vectors(args, static_cast<int64_t>(size_of(out.dtype)));
  return plan;
}

/// The scan of what the chunks became, in place: [lane][chunk].
Plan carries_plan(const Plan& plan, size_t value_bytes, int64_t items) {
  Plan carries;
  carries.wide = plan.wide;
  carries.associative = true;
  ScanArgs& args = carries.args;
  const auto bytes = static_cast<int64_t>(value_bytes);
  args.data[kIn] = args.data[kOut] = plan.args.carries;
  args.lanes = plan.args.lanes;
  args.count = args.chunk = plan.args.chunks;
  args.steps[kIn] = args.steps[kOut] = bytes;
  args.ndim = 1;
  args.dims[0] = args.lanes;
  args.strides[0][kIn] = args.strides[0][kOut] = bytes * args.count;
  args.threads =
      static_cast<int32_t>(std::min(next_power_of_two(divide_up(args.count, items)), kThreads));
  set_blocks(&carries);
  return carries;
}

void enqueue(Launching& launching, void* kernel, const Plan& plan) {
  launching.run_blocks(kernel, plan.blocks, plan.block_threads, 0, plan.args);
}

}  // namespace

bool launch_accumulate(Launching& launching, const ArrayArgs& call) {
  const ArrayView& out = call.output(0);
  if (element_count(out.shape) == 0) return true;
  std::optional<Plan> plan = plan_of(call);
  if (!plan) return false;
  share(&*plan, items_of(call));
  void* const kernel = program_for(launching, call, *plan, plan->form, false);
  if (!kernel) return false;
  ScanArgs& args = plan->args;
  if (args.chunks == 1) {
    enqueue(launching, kernel, *plan);
    return true;
  }
  void* const of_carries = program_for(launching, call, *plan, layout::kScanRows, true);
  if (!of_carries) return false;
  const bool is_float = info(out.dtype).kind == DTypeKind::floating;
  const size_t value_bytes = std::max(size_of(out.dtype), is_float ? sizeof(float) : 1);
  args.carries = launching.scratch(static_cast<size_t>(args.lanes * args.chunks) * value_bytes);
  args.phase = layout::kTotals;
  enqueue(launching, kernel, *plan);
  enqueue(launching, of_carries, carries_plan(*plan, value_bytes, items_of(call)));
  args.phase = layout::kFromCarries;
  enqueue(launching, kernel, *plan);
  return true;
}

}  // namespace ofl::ops::cuda
