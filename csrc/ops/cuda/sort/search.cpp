// search_sorted and contains on a device, see oneflow_lite/cuda/kernels/sort/search.cuh.
#include "ops/cuda/sort/search.h"

#include "ops/cuda/layout/search.h"

namespace ofl::ops::cuda {

namespace {

/// Where the kernel reports a position of a sorter for `length` elements that does not exist.
layout::int64* report_positions(Launching& launching, int64_t length) {
  return launching.report(1, [length](int, int64_t position) {
    return Error(ErrorKind::value, concat("[searchsorted] expected a sorter of positions below ",
                                          length, ", got ", position));
  });
}

}  // namespace

void* search_program(Launching& launching, const char* op, DType dtype) {
  return array_program(launching, "search", op, sizeof(layout::SearchArgs), dtype);
}

void enqueue_search(Launching& launching, void* program, const ArrayView& sorted,
                    const ArrayView& needles, const ArrayView& out, bool option) {
  const int64_t count = needles.shape[0];
  if (count == 0) return;
  launching.run(program, count,
                layout::SearchArgs{sorted.data, needles.data, out.data, sorted.shape[0], count,
                                   sorted.strides[0], needles.strides[0], out.strides[0], option});
}

bool launch_search_sorted(Launching& launching, const ArrayArgs& args) {
  const ArrayView& elements = args.input(0);
  void* const search = search_program(launching, "search_sorted", elements.dtype);
  if (!search) return false;
  ArrayView sorted = elements;
  if (args.inputs == 3 && args.input(2).shape[0] > 0) {
    const ArrayView& sorter = args.input(2);
    void* const reorder = array_program(launching, "search", "reorder", sizeof(layout::ReorderArgs),
                                        moved_as(elements.dtype));
    if (!reorder) return false;
    sorted = scratch_array(launching, elements.dtype, sorter.shape);
    layout::int64* const fault = report_positions(launching, elements.shape[0]);
    const int64_t count = sorter.shape[0];
    launching.run(
        reorder, count,
        layout::ReorderArgs{elements.data, sorter.data, sorted.data, fault, elements.shape[0],
                            count, elements.strides[0], sorter.strides[0]});
  }
  enqueue_search(launching, search, sorted, args.input(1), args.output(0), args.attr[0] != 0);
  return true;
}

bool launch_contains(Launching& launching, const ArrayArgs& args) {
  void* const search = search_program(launching, "contains", args.input(0).dtype);
  if (!search) return false;
  enqueue_search(launching, search, args.input(0), args.input(1), args.output(0),
                 args.attr[0] != 0);
  return true;
}

}  // namespace ofl::ops::cuda
