#include "ops/fusion.h"

#include <algorithm>
#include <numeric>

namespace ofl::ops {

namespace {

/// Bytes of one operand in a tile: those of a few of them stay in the L2 cache, and a loop call
/// costs little beside its work.
constexpr int64_t kTileBytes = 16384;
constexpr int64_t kMostTiles = 8;                    // times as much where rows are long
constexpr int64_t kMostElements = int64_t{1} << 36;  // more fit in no memory
constexpr int64_t kUint32Vector = 4;  // see cast.cpp: where a cast to uint32 may be cut

struct FusibleKernel {
  KernelFn kernel;
  Piecewise (*pieces)(const KernelArgs&);
};
constexpr FusibleKernel kFusible[] = {
    {elementwise_kernel, elementwise_pieces},
    {copy_kernel, copy_pieces},
    {where_kernel, where_pieces},
    {fill_kernel, fill_pieces},
};

const FusibleKernel* find_fusible(const KernelArgs& args) {
  for (const FusibleKernel& row : kFusible) {
    if (row.kernel == args.kernel) return &row;
  }
  return nullptr;
}

/// Its loop raises errors, which are those of the whole.
bool may_fail(const KernelArgs& args) {
  return args.kernel == elementwise_kernel && args.op->checks_exponent &&
         is_integer(args.resolution->in[1]);
}

bool may_cast_to_uint32(const KernelArgs& args) {
  bool found = args.kernel == elementwise_kernel && args.resolution->out == DType::u32;
  for (int k = 0; k < args.iteration.operands; ++k) {
    found = found || args.dtype[k] == DType::u32;
    if (args.kernel == elementwise_kernel && k < args.op->nin) {
      found = found || args.resolution->in[k] == DType::u32;
    }
  }
  return found;
}

int64_t largest_item(const KernelArgs& args) {
  size_t largest = 1;
  for (int k = 0; k < args.iteration.operands; ++k) {
    largest = std::max(largest, size_of(args.dtype[k]));
  }
  return static_cast<int64_t>(largest);
}

/// Elements inside each row of an iteration, from the innermost one, and of all; each stands for
/// `scale` of the group's.
void add_bounds(const Iteration& iteration, int64_t scale, std::vector<int64_t>* bounds) {
  int64_t inner = scale;
  bounds->insert(bounds->end(), {1, inner});
  for (int d = iteration.ndim - 1; d >= 0; --d) {
    inner *= iteration.rows[d].dim;
    bounds->push_back(inner);
  }
}

/// Sorts them; false unless each divides the next.
bool make_chain(std::vector<int64_t>* bounds) {
  std::sort(bounds->begin(), bounds->end());
  bounds->erase(std::unique(bounds->begin(), bounds->end()), bounds->end());
  for (size_t i = 1; i < bounds->size(); ++i) {
    if ((*bounds)[i] % (*bounds)[i - 1] != 0) return false;
  }
  return true;
}

}  // namespace

bool is_elementwise(const KernelArgs& args) { return find_fusible(args) != nullptr; }

/// A kernel that may become the next one, with what the group would know then.
struct FusionGroup::Draft {
  Kernel kernel;
  std::vector<Place> places;  // of its operands
  std::vector<int64_t> bounds;
  int64_t elements, row, multiple, alignment, item_size;
  Tiling tiling;
};

bool FusionGroup::add(const KernelArgs& args, void* const* memories) {
  if (full() || may_fail(args)) return false;
  Draft draft;
  draft.kernel.args = &args;
  draft.bounds = bounds_;
  draft.row = row_;
  draft.multiple = multiple_;
  draft.item_size = std::max(item_size_, largest_item(args));
  draft.alignment = std::max(alignment_, may_cast_to_uint32(args) ? kUint32Vector : 1);
  if (!scale_elements(args, &draft)) return false;
  place_operands(memories, &draft);
  if (!is_in_order(draft)) return false;
  if (const FusibleKernel* fusible = find_fusible(args)) {
    draft.kernel.whole = fusible->pieces(args);
    const int64_t alignment = draft.kernel.whole.alignment;
    if (draft.kernel.whole.rigid || (alignment > 1 && draft.kernel.scale > 1)) return false;
    draft.alignment = std::max(draft.alignment, alignment);
    add_bounds(args.iteration, draft.kernel.scale, &draft.bounds);
  } else if (!make_reduction(&draft)) {
    return false;
  }
  if (!make_chain(&draft.bounds) || !choose_tiling(draft, &draft.tiling)) return false;
  take(std::move(draft), memories);
  return true;
}

/// Whether it has the group's elements, or one for each row that is reduced.
bool FusionGroup::scale_elements(const KernelArgs& args, Draft* draft) const {
  const int64_t elements = iteration_size(args.iteration);
  draft->elements = size() > 0 ? elements_ : elements;
  if (elements == 0 || elements > kMostElements) return false;
  if (elements == draft->elements) return true;
  // A cast to uint32 may not be cut anywhere, and rows have any length.
  if (row_ == 0 || elements * row_ != elements_ || may_cast_to_uint32(args)) return false;
  draft->kernel.scale = row_;
  return find_fusible(args) != nullptr;
}

/// As the group's elements walk it: along a row that is reduced, its result does not step.
FusionGroup::Place FusionGroup::make_place(const Kernel& kernel, int k, int memory) {
  const KernelArgs& args = *kernel.args;
  Place place;
  place.memory = memory;
  place.written = k == args.iteration.operands - 1;
  place.offset = reinterpret_cast<intptr_t>(args.data[k]);
  place.item_size = static_cast<int64_t>(size_of(args.dtype[k]));
  place.low = place.offset;
  place.high = place.offset + place.item_size;
  const auto add_row = [&](int64_t dim, int64_t stride) {
    if (dim == 1) return;
    (stride < 0 ? place.low : place.high) += (dim - 1) * stride;
    if (!place.dims.empty() && place.strides.back() == stride * dim) {
      place.dims.back() *= dim;
      place.strides.back() = stride;
    } else {
      place.dims.push_back(dim);
      place.strides.push_back(stride);
    }
  };
  for (int d = 0; d < args.iteration.ndim; ++d) {
    add_row(args.iteration.rows[d].dim, args.iteration.rows[d].strides[k]);
  }
  add_row(kernel.scale, 0);
  return place;
}

int FusionGroup::find(void* id) const {
  for (size_t i = 0; i < memories_.size(); ++i) {
    if (memories_[i].id == id) return static_cast<int>(i);
  }
  return -1;
}

void FusionGroup::place_operands(void* const* memories, Draft* draft) const {
  const int operands = draft->kernel.args->iteration.operands;
  int known = static_cast<int>(memories_.size());
  for (int k = 0; k < operands; ++k) {
    int& memory = draft->kernel.memory[k] = -1;
    if (!memories[k]) continue;
    memory = find(memories[k]);
    for (int i = 0; i < k && memory < 0; ++i) {
      if (memories[i] == memories[k]) memory = draft->kernel.memory[i];
    }
    if (memory < 0) memory = known++;
    draft->places.push_back(make_place(draft->kernel, k, memory));
  }
}

/// Tile by tile is program order: what two kernels share, where one of them writes, they reach in
/// the same tile (the same place), or they share nothing of it.
bool FusionGroup::is_in_order(const Draft& draft) const {
  const auto is_apart = [](const Place& a, const Place& b) {
    if (a.memory != b.memory || (!a.written && !b.written)) return true;
    if (a.high <= b.low || b.high <= a.low) return true;
    return a.offset == b.offset && a.item_size == b.item_size && a.dims == b.dims &&
           a.strides == b.strides;
  };
  for (const Place& place : draft.places) {
    for (const Place& other : places_) {
      if (!is_apart(place, other)) return false;
    }
    for (const Place& other : draft.places) {
      if (!is_apart(place, other)) return false;
    }
  }
  return true;
}

/// Rows of one length, wherever they are; or one sum of something that the group has written.
bool FusionGroup::make_reduction(Draft* draft) const {
  const KernelArgs& args = *draft->kernel.args;
  if (args.kernel != reduce_kernel) return false;
  auto reduction = TiledReduction::make(args, kTileBytes / draft->item_size);
  if (!reduction) return false;
  if (reduction->sum()) {
    const int input = draft->kernel.memory[kReduceIn];
    const auto writes_input = [&](const Place& place) {
      return place.memory == input && place.written;
    };
    if (row_ || draft->bounds.size() != 2) return false;  // all the others are one row
    if (std::none_of(places_.begin(), places_.end(), writes_input)) return false;
    const DividedSum& sum = *reduction->sum();
    for (int leaf = 0; leaf < sum.leaves(); ++leaf) {
      if (sum.start(leaf) % draft->alignment != 0) return false;
    }
  } else {
    if (row_ && row_ != reduction->step()) return false;
    draft->row = reduction->step();
    draft->multiple = std::lcm(multiple_, reduction->unit());
    draft->bounds.insert(draft->bounds.end(), {1, reduction->step(), draft->elements});
  }
  draft->kernel.reduction = std::move(reduction);
  return true;
}

/// Steps of `unit` elements in a tile, of the `run` steps of a run; 0: there is no such number. All
/// tiles, and so all runs, start at multiples of what the kernels ask for.
int64_t FusionGroup::steps_of_tile(const Draft& draft, int64_t unit, int64_t run) {
  const int64_t steps = std::max<int64_t>(1, kTileBytes / draft.item_size / unit);
  const int64_t must = std::lcm(draft.multiple, draft.alignment);
  const bool one_run = unit * run == draft.bounds.back();
  for (const int64_t multiple : {std::lcm(must, kVectors), must}) {
    if (!one_run && unit * run % multiple != 0) continue;
    const int64_t least = multiple / std::gcd(unit, multiple);
    const int64_t rounded = std::max(least, steps - steps % least);
    if (rounded <= run && rounded <= kMostTiles * steps) return rounded;
    if (run <= kMostTiles * steps) return run;
  }
  return 0;
}

/// Tiles as near to the wanted size as the rows of the kernels allow.
bool FusionGroup::choose_tiling(const Draft& draft, Tiling* tiling) const {
  const int64_t wanted = kTileBytes / draft.item_size;
  for (size_t i = 0; i + 1 < draft.bounds.size(); ++i) {
    const int64_t unit = draft.bounds[i], run = draft.bounds[i + 1] / unit;
    const int64_t steps = steps_of_tile(draft, unit, run);
    const int64_t size = steps * unit;
    if (steps == 0 || size > kMostTiles * wanted) continue;
    if (draft.row && unit % draft.row != 0) continue;
    const auto can_cut = [&](const Kernel& kernel) {
      return kernel.reduction || row_of(kernel, unit).first < kernel.whole.end;
    };
    const bool possible =
        std::all_of(kernels_.begin(), kernels_.end(), can_cut) && can_cut(draft.kernel);
    const bool better = tiling->size == 0 || (size <= wanted && size > tiling->size);
    if (possible && better) {
      *tiling = {unit, size, unit * run, (run + steps - 1) / steps};
    }
  }
  return tiling->size > 0;
}

/// The row of a kernel that tiles of steps of `unit` elements cut, and the elements in its steps.
std::pair<int, int64_t> FusionGroup::row_of(const Kernel& kernel, int64_t unit) {
  const Iteration& iteration = kernel.args->iteration;
  const int64_t own = unit / kernel.scale;
  int64_t inner = 1;
  int d = iteration.ndim - 1;
  for (; d > 0 && inner * iteration.rows[d].dim <= own; --d) inner *= iteration.rows[d].dim;
  return {d, inner};
}

void FusionGroup::take(Draft&& draft, void* const* memories) {
  elements_ = draft.elements;
  row_ = draft.row;
  multiple_ = draft.multiple;
  item_size_ = draft.item_size;
  alignment_ = draft.alignment;
  bounds_ = std::move(draft.bounds);
  tiling_ = draft.tiling;
  const Place* place = draft.places.data();
  for (int k = 0; k < draft.kernel.args->iteration.operands; ++k) {
    if (memories[k]) add_use(*place++, memories[k], draft.kernel.reduction.get());
  }
  places_.insert(places_.end(), draft.places.begin(), draft.places.end());
  kernels_.push_back(std::move(draft.kernel));
}

/// Its elements in a tile lie one after the other: those of the group, or one for each row.
bool FusionGroup::is_flat(const Place& place) const {
  const int64_t first = place.dims.empty() ? 1 : place.dims[0];
  if (place.dims.empty() || place.strides[0] != place.item_size) return false;
  if (place.dims.size() == 1) return first == elements_;
  return place.dims.size() == 2 && place.dims[1] == row_ && place.strides[1] == 0;
}

/// Notes that the next kernel uses a memory.
void FusionGroup::add_use(const Place& place, void* id, const TiledReduction* reduction) {
  if (place.memory == static_cast<int>(memories_.size())) {
    Memory memory;
    memory.id = id;
    memory.begins = place.written && !(reduction && reduction->sum());
    memory.reduced = reduction != nullptr;
    memory.first = size();
    memory.offset = place.offset;
    memory.item_size = place.item_size;
    memory.dims = place.dims;
    memories_.push_back(memory);
  }
  Memory& memory = memories_[place.memory];
  const bool same = memory.offset == place.offset && memory.item_size == place.item_size &&
                    memory.dims == place.dims;
  memory.plain = memory.plain && is_flat(place) && same;
  memory.written = memory.written || place.written;
  memory.last = size();
  ++memory.uses;
}

}  // namespace ofl::ops
