// Kernels: plain functions over operands in memory. A kernel gets addresses it may touch, knows no
// tensor and no device, takes no lock and needs no GIL; it may throw ofl::Error. Its arguments have
// one of two forms: a nest of loops (loop_args.h) or whole arrays (array_args.h). Each kernel is a
// row of one table (kernels.cpp).
#pragma once

#include <cstdint>
#include <string>

#include "base/shape.h"
#include "ops/pattern.h"

namespace ofl::ep {
class HelperPool;
}

namespace ofl::ops {

namespace cuda {
class Launching;
}

struct ArrayArgs;
struct LoopArgs;
struct Piecewise;

/// A row of the table. Those of loops come first.
enum class KernelId : uint8_t {
  elementwise,
  copy,
  fill,
  where,
  reduce,
  arg_reduce,
  matmul,
  accumulate,
  argpartition,
  argsort,
  bincount,
  contains,
  conv2d,
  conv2d_input_gradient,
  conv2d_weight_gradient,
  correlate,
  histogram,
  interpolate,
  layout_transform,
  members,
  pack_bits,
  partition,
  pick,
  run_numbers,
  run_starts,
  search_sorted,
  sort,
  gufunc,
  gather,
  scatter,
  scatter_add,
  mask_gather,
  mask_scatter,
  take_along_axis,
  count_nonzero,
  nonzero,
  unpack_bits,
  philox,
  note_nonfinite,
  require_finite
};
inline constexpr int kKernelCount = static_cast<int>(KernelId::require_finite) + 1;

/// Where a result may be.
enum class Placing : uint8_t {
  apart,     // it overlaps no input, unless the caller knows better
  on_input,  // an input that it walks in the same way may be its memory
  in_place   // it is an operand that exists, of which a part changes
};

/// The elements of a result: those of operands and of the call (a NaN among them was there before),
/// or new ones.
enum class Makes : uint8_t { given, computed };

/// How helpers may share an array kernel's work: not at all; by lanes along axis attr[0]; the same,
/// or by places along the axis of all but the first input; by the places of index arrays; by the
/// elements of the second input; by its columns; as the kernel divides it itself.
enum class Division : uint8_t { none, lanes, along, places, queries, columns, own };

/// The functions of a kernel of loops.
struct LoopForm {
  void (*run)(const LoopArgs& args) = nullptr;
  /// By CUDA kernels; null: through the host.
  bool (*launch)(cuda::Launching& launching, const LoopArgs& args) = nullptr;
  /// How helpers and fused groups cut a call that is not empty; null: it is not for others to cut.
  Piecewise (*pieces)(const LoopArgs& args) = nullptr;
  /// The kind of CUDA program, where launch_elementwise asks for it.
  const char* program = nullptr;
};

/// The functions of a kernel of arrays.
struct ArrayForm {
  void (*run)(const ArrayArgs& args) = nullptr;
  bool (*launch)(cuda::Launching& launching, const ArrayArgs& args) = nullptr;
  Division division = Division::none;
  /// As a rule, its result is looked at before the thread has other work.
  bool is_awaited = false;
  /// What the row's cost is of, where the call does not say: of the shapes of inputs and outputs.
  /// Null: the elements of the largest operand. Where it is additions, the row's cost is 1.
  double (*count)(const Dims* const* shapes) = nullptr;
};

struct Kernel {
  KernelId id;
  const char* name;
  double cost;  // of one element, in float32 additions, where a call does not know better
  Pattern pattern;
  LoopForm loops;  // or:
  ArrayForm arrays;
  Placing placing;
  Makes makes;

  constexpr Kernel(KernelId id, const char* name, double cost, Pattern pattern, LoopForm loops,
                   Placing placing = Placing::apart, Makes makes = Makes::given)
      : id(id),
        name(name),
        cost(cost),
        pattern(pattern),
        loops(loops),
        placing(placing),
        makes(makes) {}
  constexpr Kernel(KernelId id, const char* name, double cost, Pattern pattern, ArrayForm arrays,
                   Placing placing = Placing::apart, Makes makes = Makes::given)
      : id(id),
        name(name),
        cost(cost),
        pattern(pattern),
        arrays(arrays),
        placing(placing),
        makes(makes) {}
};

extern const Kernel kKernels[kKernelCount];
inline const Kernel& info(KernelId kernel) { return kKernels[static_cast<int>(kernel)]; }
inline bool is_elementwise(KernelId kernel) { return info(kernel).pattern == Pattern::elementwise; }

/// The kernel of arrays with this name; Error(value) where there is none.
KernelId array_kernel(const std::string& name);

/// What arguments of both forms begin with.
struct KernelArgs {
  KernelId kernel{};
  const char* name = "";              // of the operation, in errors; outlives the machine
  ep::HelperPool* helpers = nullptr;  // for large work; nullptr: none
};

}  // namespace ofl::ops
