// Runs of equal elements, elements kept in their order, and counting on a device, see
// oneflow_lite/cuda/kernels/sort/runs.cuh.
#include <algorithm>
#include <optional>

#include "ops/cuda/layout/runs.h"
#include "ops/cuda/nest.h"
#include "ops/cuda/sort/search.h"
#include "ops/cuda/sort/sort.h"

namespace ofl::ops::cuda {

namespace {

using layout::BincountArgs;
using layout::CompactArgs;
using layout::kThreads;

/// Keeps elements in three kernels: chunks count theirs, the counts are summed, they are written.
class Compaction {
 public:
  Compaction(Launching& launching, const char* op, DType dtype)
      : launching_(launching),
        keep_(array_program(launching, "runs", op, sizeof(CompactArgs), dtype)),
        scan_(array_program(launching, "runs", "scan", sizeof(CompactArgs))) {}
  explicit operator bool() const { return keep_ && scan_; }

  /// Memory for the counts; before anything is enqueued.
  void divide(CompactArgs* args) {
    constexpr int64_t kLeast = 2048;
    args->chunk = std::max(divide_up(args->length, busy_blocks(launching_)), kLeast);
    args->chunks = divide_up(args->length, args->chunk);
    args->counts = launching_.scratch_of<layout::int64>(std::max<int64_t>(1, args->chunks));
  }
  void enqueue(CompactArgs args) {
    if (args.chunks > 0) launching_.run_blocks(keep_, args.chunks, kThreads, 0, args);
    launching_.run_blocks(scan_, 1, kThreads, 0, args);
    args.writes = 1;
    if (args.chunks > 0) launching_.run_blocks(keep_, args.chunks, kThreads, 0, args);
  }

 private:
  Launching& launching_;
  void* keep_;
  void* scan_;
};

/// How many bytes the numbers below `length` have.
int digits_below(int64_t length) {
  int digits = 1;
  while (digits < 8 && (length - 1) >> (8 * digits) != 0) ++digits;
  return digits;
}

/// Scratch memory with the positions that sort numbers below `length`; none where it is refused.
std::optional<ArrayView> sorted_order(Launching& launching, const ArrayView& given,
                                      int64_t length) {
  ArrayView numbers = given;
  const bool is_dense = given.strides[0] == sizeof(int64_t);
  if (!is_dense) numbers = scratch_array(launching, DType::i64, given.shape);
  const ArrayView order = scratch_array(launching, DType::i64, given.shape);
  Sorter sorter(launching, {numbers, order, true, false, digits_below(length)});
  if (!sorter || (!is_dense && !copy_array(launching, given, numbers))) return std::nullopt;
  sorter.enqueue();
  return order;
}

/// The error of the host's kernel. The length was found in an earlier look at the numbers.
layout::int64* report_numbers(Launching& launching, int64_t length) {
  const char* name = launching.name();
  return launching.report(1, [name, length](int, int64_t) {
    return Error(ErrorKind::runtime, concat("[", name, "] expected numbers below ", length,
                                            ", got others: another thread wrote to the tensor"));
  });
}

bool launch_weighted_bincount(Launching& launching, const ArrayArgs& args, BincountArgs given) {
  void* const weigh = array_program(launching, "runs", "weigh", sizeof(given));
  if (!weigh) return false;
  given.weights = args.input(1).data;
  given.weight_step = args.input(1).strides[0];
  if (given.count == 0) {
    launching.run(weigh, given.length * 32, given);
    return true;
  }
  given.fault = report_numbers(launching, given.length);
  const std::optional<ArrayView> order = sorted_order(launching, args.input(0), given.length);
  if (!order) return false;
  given.order = int64_data(*order);
  launching.run(weigh, given.length * 32, given);
  return true;
}

}  // namespace

bool launch_run_starts(Launching& launching, const ArrayArgs& args) {
  const ArrayView& sorted = args.input(0);
  Compaction compaction(launching, "starts", sorted.dtype);
  if (!compaction) return false;
  CompactArgs given;
  given.in = sorted.data;
  given.out = args.output(0).data;
  given.ends = int64_data(args.output(0));
  given.total = int64_data(args.output(1));
  given.length = sorted.shape[0];
  given.in_step = sorted.strides[0];
  given.equal_nan = args.attr[0] != 0;
  compaction.divide(&given);
  compaction.enqueue(given);
  return true;
}

bool launch_members(Launching& launching, const ArrayArgs& args) {
  const ArrayView &elements = args.input(2), &out = args.output(0);
  Compaction compaction(launching, "flagged", moved_as(elements.dtype));
  void* const search = search_program(launching, "contains", args.input(0).dtype);
  if (!compaction || !search) return false;
  const ArrayView kept = scratch_array(launching, DType::b1, elements.shape);
  CompactArgs given;
  given.in = elements.data;
  given.kept = kept.data;
  given.out = out.data;
  given.total = int64_data(args.output(1));
  given.length = elements.shape[0];
  given.in_step = elements.strides[0];
  given.out_step = out.strides[0];
  compaction.divide(&given);
  enqueue_search(launching, search, args.input(0), args.input(1), kept, args.attr[0] != 0);
  compaction.enqueue(given);
  return true;
}

bool launch_run_numbers(Launching& launching, const ArrayArgs& args) {
  const ArrayView &starts = args.input(0), &order = args.input(1), &out = args.output(0);
  void* const number = array_program(launching, "runs", "numbers", sizeof(layout::RunNumberArgs));
  if (!number) return false;
  const int64_t count = order.shape[0];
  if (count == 0) return true;
  launching.run(number, count,
                layout::RunNumberArgs{starts.data, order.data, out.data, starts.shape[0] - 1, count,
                                      starts.strides[0], order.strides[0], out.strides[0]});
  return true;
}

bool launch_scatter_add(Launching& launching, const ArrayArgs& args) {
  const ArrayView &numbers = args.input(0), &rows = args.input(1), &out = args.output(0);
  const int64_t count = numbers.shape[0], length = out.shape[0], width = out.shape[1];
  if (length == 0) return count == 0;  // the host's kernel raises: index 0, too, is out of bounds
  layout::AddRowsArgs given;
  layout::SettleArgs settling;
  void* const add = array_program(launching, "runs", "add_rows", sizeof(given), out.dtype);
  void* const settle = array_program(launching, "runs", "settle", sizeof(settling));
  if (!add || !settle) return false;
  given.rows = rows.data;
  given.out = out.data;
  given.count = settling.count = count;
  given.length = settling.length = length;
  given.width = width;
  given.row_step = rows.strides[0];
  given.column_step = rows.strides[1];
  if (count > 0) {
    settling.fault = report_indices(launching, {length}, {0}, ErrorKind::index);
    const ArrayView settled = scratch_array(launching, DType::i64, numbers.shape);
    const ArrayView order = scratch_array(launching, DType::i64, numbers.shape);
    Sorter sorter(launching, {settled, order, true, false, digits_below(length)});
    if (!sorter) return false;
    settling.numbers = numbers.data;
    settling.number_step = numbers.strides[0];
    settling.settled = int64_data(settled);
    launching.run(settle, count, settling);
    sorter.enqueue();
    given.numbers = settled.data;
    given.number_step = settled.strides[0];
    given.order = int64_data(order);
  }
  if (width > 0) launching.run(add, length * width, given);
  return true;
}

bool launch_bincount(Launching& launching, const ArrayArgs& args) {
  const ArrayView &numbers = args.input(0), &out = args.output(0);
  BincountArgs given;
  given.numbers = numbers.data;
  given.out = out.data;
  given.count = numbers.shape[0];
  given.length = out.shape[0];
  given.number_step = numbers.strides[0];
  if (args.inputs == 2 && given.length > 0) return launch_weighted_bincount(launching, args, given);
  const bool is_few = given.length <= layout::kSharedCounts;
  void* const count =
      array_program(launching, "runs", is_few ? "count_few" : "count", sizeof(given));
  if (!count) return false;
  if (given.count > 0) given.fault = report_numbers(launching, given.length);
  if (given.length > 0 && !clear_array(launching, out)) return false;
  if (given.count > 0) launching.run(count, given.count, given);
  return true;
}

}  // namespace ofl::ops::cuda
