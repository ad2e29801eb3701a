// The table of kernels.
#include "ops/array_args.h"
#include "ops/cuda/launching.h"
#include "ops/pieces.h"

namespace ofl::ops {

using namespace cuda;  // the launchers
using Id = KernelId;

// clang-format off
constexpr Kernel kKernels[] = {
    {Id::elementwise, "elementwise", 1, Pattern::elementwise,
     {elementwise_kernel, launch_elementwise, elementwise_pieces, "elementwise"},
     Placing::on_input, Makes::computed},
    {Id::copy, "copy", 1, Pattern::elementwise,
     {copy_kernel, launch_elementwise, copy_pieces, "copy"}, Placing::on_input, Makes::computed},
    {Id::fill, "fill", 0.5, Pattern::elementwise,
     {fill_kernel, launch_elementwise, fill_pieces, "copy"}},
    {Id::where, "where", 1, Pattern::elementwise,
     {where_kernel, launch_elementwise, where_pieces, "where"}, Placing::on_input},
    {Id::reduce, "reduce", 1, Pattern::reduction, {reduce_kernel, launch_reduce},
     Placing::apart, Makes::computed},
    {Id::arg_reduce, "arg_reduce", 0.5, Pattern::reduction, {arg_reduce_kernel, launch_arg_reduce}},
    {Id::matmul, "matmul", 1, Pattern::out_fusable, {matmul_kernel, launch_matmul},
     Placing::apart, Makes::computed},
    {Id::accumulate, "accumulate", 2, Pattern::opaque,
     {accumulate_kernel, launch_accumulate, Division::lanes}, Placing::apart, Makes::computed},
    {Id::argpartition, "argpartition", 6, Pattern::opaque,
     {argpartition_kernel, launch_argsort, Division::lanes}},
    {Id::argsort, "argsort", 30, Pattern::opaque,
     {argsort_kernel, launch_argsort, Division::lanes}},
    {Id::bincount, "bincount", 4, Pattern::opaque,
     {bincount_kernel, launch_bincount, Division::own}, Placing::apart, Makes::computed},
    {Id::contains, "contains", 40, Pattern::opaque,
     {contains_kernel, launch_contains, Division::queries}},
    {Id::conv2d, "conv2d", 1, Pattern::out_fusable,
     {conv2d_kernel, launch_conv2d, Division::own, false, conv2d_work}, Placing::apart,
     Makes::computed},
    {Id::conv2d_input_gradient, "conv2d_input_gradient", 1, Pattern::out_fusable,
     {conv2d_input_gradient_kernel, launch_conv2d_input_gradient, Division::own, false,
      conv2d_input_gradient_work},
     Placing::apart, Makes::computed},
    {Id::conv2d_weight_gradient, "conv2d_weight_gradient", 1, Pattern::out_fusable,
     {conv2d_weight_gradient_kernel, launch_conv2d_weight_gradient, Division::own, false,
      conv2d_weight_gradient_work},
     Placing::apart, Makes::computed},
    {Id::correlate, "correlate", 0.25, Pattern::opaque,
     {correlate_kernel, nullptr, Division::own}, Placing::apart, Makes::computed},
    {Id::histogram, "histogram", 4, Pattern::opaque,
     {histogram_kernel, nullptr, Division::own}, Placing::apart, Makes::computed},
    {Id::interpolate, "interpolate", 40, Pattern::opaque,
     {interpolate_kernel, nullptr, Division::queries}, Placing::apart, Makes::computed},
    {Id::layout_transform, "layout_transform", 1, Pattern::injective,
     {layout_transform_kernel, launch_layout_transform, Division::own}},
    {Id::members, "members", 40, Pattern::opaque, {members_kernel, launch_members}},
    {Id::pack_bits, "pack_bits", 0.5, Pattern::opaque,
     {pack_bits_kernel, nullptr, Division::lanes}, Placing::apart, Makes::computed},
    {Id::partition, "partition", 3, Pattern::opaque,
     {partition_kernel, launch_sort, Division::lanes}},
    {Id::pick, "pick", 4, Pattern::injective, {pick_kernel, launch_pick, Division::queries}},
    {Id::run_numbers, "run_numbers", 4, Pattern::opaque, {run_numbers_kernel, launch_run_numbers}},
    {Id::run_starts, "run_starts", 4, Pattern::opaque, {run_starts_kernel, launch_run_starts}},
    {Id::search_sorted, "search_sorted", 40, Pattern::opaque,
     {search_sorted_kernel, launch_search_sorted, Division::queries}},
    {Id::sort, "sort", 10, Pattern::opaque, {sort_kernel, launch_sort, Division::lanes}},
    {Id::gufunc, "gufunc", 1, Pattern::opaque, {gufunc_kernel, nullptr, Division::own, true},
     Placing::apart, Makes::computed},
    {Id::gather, "gather", 3, Pattern::injective, {gather_kernel, launch_gather, Division::places}},
    {Id::scatter, "scatter", 3, Pattern::opaque,
     {scatter_kernel, launch_scatter}, Placing::in_place},
    {Id::scatter_add, "scatter_add", 1, Pattern::opaque,
     {scatter_add_kernel, launch_scatter_add, Division::columns}, Placing::apart, Makes::computed},
    {Id::mask_gather, "mask_gather", 2, Pattern::opaque, {mask_gather_kernel, launch_mask_gather}},
    {Id::mask_scatter, "mask_scatter", 2, Pattern::opaque,
     {mask_scatter_kernel, launch_mask_scatter}, Placing::in_place},
    {Id::take_along_axis, "take_along_axis", 3, Pattern::injective,
     {take_along_axis_kernel, launch_take_along_axis, Division::along}},
    {Id::count_nonzero, "count_nonzero", 0.5, Pattern::reduction,
     {count_nonzero_kernel, launch_count_nonzero}},
    {Id::nonzero, "nonzero", 2, Pattern::opaque, {nonzero_kernel, launch_nonzero, Division::own}},
    {Id::unpack_bits, "unpack_bits", 0.25, Pattern::opaque,
     {unpack_bits_kernel, nullptr, Division::lanes}, Placing::apart, Makes::computed},
    {Id::philox, "philox", 4, Pattern::opaque, {philox_kernel, launch_philox, Division::own}},
    {Id::note_nonfinite, "note_nonfinite", 1, Pattern::opaque, {note_nonfinite_kernel}},
    {Id::require_finite, "require_finite", 1, Pattern::opaque, {require_finite_kernel},
     Placing::in_place},
};
// clang-format on

namespace {

/// Rows are where their numbers say, and what the columns say of fusion agrees.
constexpr bool is_sound() {
  for (int i = 0; i < kKernelCount; ++i) {
    const Kernel& row = kKernels[i];
    if (static_cast<int>(row.id) != i) return false;
    const bool is_cut = row.loops.pieces != nullptr, has_program = row.loops.program != nullptr;
    if (is_cut != (row.pattern == Pattern::elementwise) || has_program != is_cut) return false;
  }
  return true;
}
static_assert(is_sound());

}  // namespace

KernelId array_kernel(const std::string& name) {
  for (const Kernel& kernel : kKernels) {
    if (kernel.arrays.run && name == kernel.name) return kernel.id;
  }
  fail(ErrorKind::value, "[array_kernel] there is no kernel named ", name);
}

}  // namespace ofl::ops
