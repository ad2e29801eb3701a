// Reductions and searches for the best on a device: how outputs and their elements are shared by
// threads. Where that decides how a sum is rounded it depends on shapes and strides alone.
#include "ops/cuda/reduce/reduce.h"

#include <algorithm>
#include <cstring>

#include "ops/array_args.h"
#include "ops/cuda/axes.h"
#include "ops/cuda/layout/reduce.h"
#include "ops/cuda/programs.h"
#include "ops/loop_args.h"
#include "ops/loops.h"

namespace ofl::ops::cuda {

namespace {

constexpr int kIn = 0;
constexpr int kOut = 1;
constexpr int64_t kThreads = layout::kReduceThreads;
constexpr int64_t kEnoughBlocks = 1024;  // for every device that there is: no grid decides bits
constexpr int64_t kLeastSteps = 8;       // of a thread, for which a second launch pays
constexpr int64_t kMostSteps = 256;      // of a thread: no chain of sums is longer
constexpr int64_t kManyRows = 32;        // from which on threads take several vectors of one
constexpr int64_t kColumnWidth = 32;     // threads beside each other, where several share a column

using layout::kReduceAxes;
using layout::kReduceVectorBytes;
using layout::ReduceArgs;
using Form = layout::ReduceForm;

/// What is reduced, whatever kernel it is of.
struct Call {
  const char* kind;
  const char* op;
  DType in, out, loop_in, loop_out;
  char* data[2];
  int64_t position = 0;
  const Scalar* initial = nullptr;
  std::vector<Axis> kept, reduced;
};

struct Key {
  const char* kind;
  const char* op;
  DType in, out, loop_in, loop_out;
  Form form;
  int32_t lanes;
  int32_t of_values;
  int32_t wide;
  int32_t unused;
};

void* program_for(Launching& launching, const Call& call, Form form, int64_t lanes, bool of_values,
                  bool wide) {
  static Programs<Key>& programs = *new Programs<Key>;
  const Key key{call.kind,    call.op,       call.in, call.out,
                call.loop_in, call.loop_out, form,    static_cast<int32_t>(lanes),
                of_values,    wide,          0};
  return programs.get(launching, key, [&] {
    KernelRequest request;
    request.kind = call.kind;
    request.op = call.op;
    request.dtypes = {call.in, call.out};
    request.loop = {call.loop_in, call.loop_out};
    request.flat = form == layout::kFlatRows;
    request.wide = wide;
    request.args_bytes = sizeof(ReduceArgs);
    request.options = {static_cast<int64_t>(form), lanes, of_values};
    return request;
  });
}

void add_axis(Call* call, int64_t dim, int64_t in, int64_t out, int64_t position, bool is_kept) {
  if (dim != 1) (is_kept ? call->kept : call->reduced).push_back({dim, in, out, position});
}

void order(Call* call) {
  // Of no elements nothing is read, and far strides must not leave the storage.
  if (reach_of(call->reduced).elements == 0) {
    call->data[kIn] = nullptr;
    call->reduced = {{0, static_cast<int64_t>(size_of(call->in)), 0, 0}};
    for (Axis& axis : call->kept) axis.in = 0;
  }
  for (std::vector<Axis>* axes : {&call->kept, &call->reduced}) {
    const Shift shift = order_axes(axes);
    call->data[kIn] += shift.in;
    call->data[kOut] += shift.out;
    call->position += shift.position;
  }
}

/// Bytes of what an element becomes; a search has its position besides.
constexpr size_t kMostValueBytes = 32;  // of a complex128 24

/// How a call is launched.
struct Plan {
  Form form = layout::kFlatRows;
  int64_t lanes = 1;
  bool wide = false;
  int64_t blocks = 1;
  int block_threads = 32;
  ReduceArgs args;
};

bool is_multiple(const std::vector<Axis>& axes, size_t but, int64_t of) {
  for (size_t d = 0; d < axes.size(); ++d) {
    if (d != but && axes[d].in % of != 0) return false;
  }
  return true;
}

/// Elements of a vector along the innermost of `along`, where all of them can be read as vectors.
int64_t lanes_along(const Call& call, const std::vector<Axis>& along, const std::vector<Axis>& rest,
                    int64_t most) {
  const auto size = static_cast<int64_t>(size_of(call.in));
  int64_t lanes = std::min(kReduceVectorBytes / size, most);
  if (along.empty() || along.back().in != size) return 1;
  for (; lanes > 1; lanes /= 2) {
    const int64_t bytes = lanes * size;
    if (along.back().dim % lanes == 0 && reinterpret_cast<uintptr_t>(call.data[kIn]) % bytes == 0 &&
        is_multiple(along, along.size() - 1, bytes) && is_multiple(rest, rest.size(), bytes)) {
      break;
    }
  }
  return std::max<int64_t>(lanes, 1);
}

/// Threads take outputs beside each other where these are closer than an output's elements.
bool are_columns(const Call& call) {
  if (call.kept.empty() || call.reduced.empty()) return false;
  return call.kept.back().in < call.reduced.back().in;
}

void set_axes(const Call& call, const Plan& plan, ReduceArgs* args) {
  args->kept = static_cast<int32_t>(call.kept.size());
  args->reduced = static_cast<int32_t>(call.reduced.size());
  for (int d = 0; d < args->kept; ++d) {
    const Axis& axis = call.kept[d];
    const bool in_vectors = plan.form == layout::kColumns && d + 1 == args->kept;
    const int64_t lanes = in_vectors ? plan.lanes : 1;
    args->kept_dims[d] = axis.dim / lanes;
    args->kept_strides[d][kIn] = axis.in * lanes;
    args->kept_strides[d][kOut] = axis.out * lanes;
  }
  for (int d = 0; d < args->reduced; ++d) {
    const Axis& axis = call.reduced[d];
    const bool in_vectors = plan.form == layout::kRows && d + 1 == args->reduced;
    const int64_t lanes = in_vectors ? plan.lanes : 1;
    args->reduced_dims[d] = axis.dim / lanes;
    args->reduced_strides[d] = axis.in * lanes;
    args->reduced_positions[d] = axis.position * lanes;
  }
}

/// Cuts an output, now one chunk, into about `wanted` ones. `unit`: elements that its threads take
/// in one step.
void cut(ReduceArgs* args, int64_t wanted, int64_t unit) {
  const int64_t count = args->count;
  int64_t chunks = std::min(count / (unit * kLeastSteps), std::max<int64_t>(wanted, 1));
  chunks = std::max(chunks, divide_up(count, unit * kMostSteps));
  if (chunks <= 1) return;
  args->chunk = divide_up(divide_up(count, chunks), unit) * unit;
  args->chunks = divide_up(count, args->chunk);
}

/// `may_cut`: there may be a second launch.
void share_rows(Plan* plan, bool may_cut) {
  ReduceArgs& args = plan->args;
  const int64_t lanes = plan->form == layout::kFlatRows ? plan->lanes : 1;
  const int64_t tile = kThreads * lanes;
  args.chunk = std::max<int64_t>(args.count, 1);
  if (may_cut) {
    cut(&args, kEnoughBlocks / args.outputs, tile);
  }
  const int64_t rows = args.outputs * args.chunks, units = divide_up(args.chunk, lanes);
  const bool are_many = rows >= kManyRows;
  args.threads = static_cast<int32_t>(std::min<int64_t>(
      kThreads, next_power_of_two(are_many ? divide_up(units, layout::kReduceChains) : units)));
  plan->block_threads =
      static_cast<int>(std::clamp<int64_t>(next_power_of_two(rows) * args.threads, 32, kThreads));
  plan->blocks = divide_up(rows, plan->block_threads / args.threads);
}

void share_columns(Plan* plan, bool may_cut) {
  ReduceArgs& args = plan->args;
  const int64_t units = args.outputs / plan->lanes;
  const int64_t walkers = next_power_of_two(divide_up(args.count, layout::kReduceChains));
  const int64_t width =
      std::min(next_power_of_two(units), kThreads / std::min(walkers, kThreads / kColumnWidth));
  const int64_t walking = std::max(std::min(walkers, kThreads / width), 32 / width);
  const int64_t groups = divide_up(units, width);
  plan->block_threads = static_cast<int>(width * walking);
  args.threads = static_cast<int32_t>(width);
  args.chunk = args.count;
  if (may_cut) {
    cut(&args, kEnoughBlocks / groups, walking);
  }
  plan->blocks = groups * args.chunks;
}

Plan plan_of(const Call& call, bool of_values) {
  Plan plan;
  const bool columns = are_columns(call);
  const Reach kept = reach_of(call.kept), reduced = reach_of(call.reduced);
  const auto size = static_cast<int64_t>(of_values ? 1 : size_of(call.in));
  const bool flat =
      call.reduced.empty() || (call.reduced.size() == 1 && call.reduced[0].in == size);
  plan.form = columns ? layout::kColumns : flat ? layout::kFlatRows : layout::kRows;
  plan.wide = kept.elements >= kNarrow / std::max<int64_t>(reduced.elements, 1) ||
              kept.in + reduced.in >= kNarrow - kReduceVectorBytes ||
              kept.out >= kNarrow - kReduceVectorBytes;
  if (!of_values && columns) {
    const auto most = static_cast<int64_t>(kMostValueBytes / (2 * size_of(call.loop_in)));
    plan.lanes = lanes_along(call, call.kept, call.reduced, std::clamp<int64_t>(most, 1, 8));
  } else if (!of_values && flat) {
    plan.lanes = layout::reduce_lanes(static_cast<int>(size));
  } else if (!of_values) {
    plan.lanes = lanes_along(call, call.reduced, call.kept, kReduceVectorBytes / size);
  }
  ReduceArgs& args = plan.args;
  set_axes(call, plan, &args);
  args.of_values = of_values;
  args.outputs = kept.elements;
  args.count = plan.form == layout::kRows ? reduced.elements / plan.lanes : reduced.elements;
  args.position = call.position;
  args.lane_step = call.reduced.empty() ? 0 : call.reduced.back().position;
  if (columns) args.lane_step = call.kept.back().out;
  for (int k : {kIn, kOut}) args.data[k] = call.data[k];
  if (call.initial) {
    args.has_initial = 1;
    std::memcpy(args.initial, call.initial->bytes, sizeof(args.initial));
  }
  if (columns) {
    share_columns(&plan, !of_values);
  } else {
    share_rows(&plan, !of_values);
  }
  return plan;
}

/// The call that reduces what the chunks became: [outputs][chunks], or [chunks][outputs] of
/// columns.
Call second_stage(const Call& call, const Plan& plan) {
  Call second = call;
  const bool columns = plan.form == layout::kColumns;
  int64_t step = columns ? 1 : plan.args.chunks;
  for (auto axis = second.kept.rbegin(); axis != second.kept.rend(); ++axis) {
    axis->in = step;
    step *= axis->dim;
  }
  second.reduced = {{plan.args.chunks, columns ? plan.args.outputs : 1, 0, 0}};
  return second;
}

void enqueue(Launching& launching, void* kernel, const Plan& plan) {
  launching.run_blocks(kernel, plan.blocks, plan.block_threads, 0, plan.args);
}

/// The launch that makes results of the values in `plan`'s chunks, at `values`.
Plan last_plan(const Call& call, const Plan& plan, void* values) {
  Plan last = plan_of(second_stage(call, plan), true);
  last.args.data[kIn] = values;
  return last;
}

void* last_program(Launching& launching, const Call& call, const Plan& plan) {
  const Plan last = last_plan(call, plan, nullptr);
  return program_for(launching, call, last.form, 1, true, plan.wide);
}

void* make_room(Launching& launching, const Plan& plan) {
  const auto values = static_cast<size_t>(plan.args.outputs * plan.args.chunks);
  return launching.scratch(values * kMostValueBytes);
}

bool launch_reduction(Launching& launching, Call call) {
  order(&call);
  if (call.kept.size() > kReduceAxes || call.reduced.size() > kReduceAxes) return false;
  Plan plan = plan_of(call, false);
  void* const first = program_for(launching, call, plan.form, plan.lanes, false, plan.wide);
  if (!first) return false;
  if (plan.args.chunks == 1) {
    enqueue(launching, first, plan);
    return true;
  }
  void* const then = last_program(launching, call, plan);
  if (!then) return false;
  plan.args.data[kOut] = make_room(launching, plan);
  plan.args.is_partial = 1;
  enqueue(launching, first, plan);
  enqueue(launching, then, last_plan(call, plan, plan.args.data[kOut]));
  return true;
}

/// Positions are those of the reduced rows as they are given, the last one innermost.
void add_rows(const Iteration& iteration, Call* call) {
  int64_t position = 1;
  for (int d = iteration.ndim - 1; d >= 0; --d) {
    const Iteration::Row& row = iteration.rows[d];
    const bool is_kept = row.strides[kOut] != 0;
    add_axis(call, row.dim, row.strides[kIn], row.strides[kOut], is_kept ? 0 : position, is_kept);
    if (!is_kept) position *= row.dim;
  }
}

Call call_of(const LoopArgs& args) {
  Call call;
  call.in = args.dtype[kIn];
  call.out = args.dtype[kOut];
  for (int k : {kIn, kOut}) call.data[k] = args.data[k];
  add_rows(args.iteration, &call);
  return call;
}

Call reduce_call(const LoopArgs& args) {
  Call call = call_of(args);
  call.kind = "reduction";
  call.op = args.op->name.c_str();
  call.loop_in = args.resolution->in[0];
  call.loop_out = args.resolution->out;
  // Only of complex extremes positions count; else axes may be merged in any order.
  if (info(call.loop_in).kind != DTypeKind::complex) {
    for (Axis& axis : call.reduced) axis.position = 0;
  }
  if (args.attr[0] == 1) call.initial = &args.scalars[0];
  return call;
}

/// The input is read element after element, in the order of the rows given: first all of an output
/// or one of each.
bool is_in_order(const LoopArgs& args) {
  auto step = static_cast<int64_t>(size_of(args.dtype[kIn]));
  int changes = 0;  // between rows that are kept and rows that are not
  const Iteration::Row* inner = nullptr;
  for (int d = args.iteration.ndim - 1; d >= 0; --d) {
    const Iteration::Row& row = args.iteration.rows[d];
    if (row.dim == 1) continue;
    if (row.strides[kIn] != step) return false;
    if (inner) changes += (inner->strides[kOut] == 0) != (row.strides[kOut] == 0);
    inner = &row;
    step *= row.dim;
  }
  return changes <= 1;
}

}  // namespace

std::optional<SharedReduction> shared_reduction(const LoopArgs& args, char* input) {
  if (iteration_size(args.iteration) == 0 || !is_in_order(args)) return std::nullopt;
  Call call = reduce_call(args);
  call.data[kIn] = input;
  order(&call);
  if (call.kept.size() > kReduceAxes || call.reduced.size() != 1) return std::nullopt;
  const Plan plan = plan_of(call, false);
  const bool columns = plan.form == layout::kColumns;
  if (plan.form == layout::kRows || (columns && call.kept.size() != 1)) return std::nullopt;
  const ReduceArgs& shared = plan.args;
  return SharedReduction{columns,       shared.outputs,     shared.count,
                         shared.chunks, shared.chunk,       columns ? plan.lanes : 1,
                         plan.blocks,   plan.block_threads, shared.threads};
}

KernelRequest reduction_request(const LoopArgs& args, bool has_initial) {
  KernelRequest request;
  request.kind = "reduction";
  request.op = args.op->name;
  const DType result = args.resolution->out;
  request.dtypes = {args.dtype[kIn], result, args.dtype[kOut]};
  request.loop = {args.resolution->in[0], result, result};
  if (!has_initial) {
    request.dtypes.erase(request.dtypes.begin() + 1);
    request.loop.erase(request.loop.begin() + 1);
  }
  return request;
}

LastStage::LastStage(Launching& launching, const LoopArgs& args)
    : launching_(launching), args_(args) {
  Call call = reduce_call(args);
  order(&call);
  const Plan plan = plan_of(call, false);
  kernel_ = last_program(launching, call, plan);
  if (kernel_) values_ = make_room(launching, plan);
}

void LastStage::launch() {
  Call call = reduce_call(args_);
  order(&call);
  enqueue(launching_, kernel_, last_plan(call, plan_of(call, false), values_));
}

bool launch_reduce(Launching& launching, const LoopArgs& args) {
  return launch_reduction(launching, reduce_call(args));
}

bool launch_arg_reduce(Launching& launching, const LoopArgs& args) {
  Call call = call_of(args);
  call.kind = "arg_reduce";
  call.op = args.attr[0] == 1 ? "smallest" : "largest";
  call.loop_in = call.in;
  call.loop_out = call.out;
  return launch_reduction(launching, call);
}

bool launch_count_nonzero(Launching& launching, const ArrayArgs& args) {
  const ArrayView &x = args.input(0), &out = args.output(0);
  Call call;
  call.kind = "count";
  call.op = "";
  call.in = x.dtype;
  call.out = out.dtype;
  call.loop_in = call.loop_out = DType::i64;
  call.data[kIn] = x.data;
  call.data[kOut] = out.data;
  for (int d = 0; d < x.shape.size(); ++d) {
    add_axis(&call, x.shape[d], x.strides[d], 0, 0, false);
  }
  return launch_reduction(launching, call);
}

}  // namespace ofl::ops::cuda
