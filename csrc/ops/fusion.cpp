#include "ops/fusion.h"

#include <algorithm>
#include <numeric>

namespace ofl::ops {

namespace {

/// Bytes of one operand in a tile: those of a few of them stay in the L2 cache, and a loop call
/// costs little beside its work.
constexpr int64_t kTileBytes = 32768;
constexpr int64_t kMostTiles = 8;     // times as much where rows are long
constexpr int64_t kVectors = 64;      // elements; tiles start at multiples where that is possible
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

/// Elements inside each row of an iteration, from the innermost one, and of all.
void add_bounds(const Iteration& iteration, std::vector<int64_t>* bounds) {
  int64_t inner = 1;
  bounds->push_back(inner);
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

/// A kernel that may become the next one, with what the group would know then.
struct FusionGroup::Draft {
  Kernel kernel;
  std::vector<Place> places;  // of its operands
  std::vector<int64_t> bounds;
  bool aligned;
  int64_t item_size;
  Tiling tiling;
  std::unique_ptr<TiledReduction> reduction;
};

FusionGroup::Place FusionGroup::make_place(const KernelArgs& args, int k, int memory) {
  Place place;
  place.memory = memory;
  place.written = k == args.iteration.operands - 1;
  place.offset = reinterpret_cast<intptr_t>(args.data[k]);
  place.item_size = static_cast<int64_t>(size_of(args.dtype[k]));
  place.low = place.offset;
  place.high = place.offset + place.item_size;
  for (int d = 0; d < args.iteration.ndim; ++d) {
    const int64_t dim = args.iteration.rows[d].dim, stride = args.iteration.rows[d].strides[k];
    if (dim == 1) continue;
    (stride < 0 ? place.low : place.high) += (dim - 1) * stride;
    if (!place.dims.empty() && place.strides.back() == stride * dim) {
      place.dims.back() *= dim;
      place.strides.back() = stride;
    } else {
      place.dims.push_back(dim);
      place.strides.push_back(stride);
    }
  }
  return place;
}

bool FusionGroup::add(const KernelArgs& args, void* const* memories) {
  if (full() || may_fail(args)) return false;
  const int64_t elements = iteration_size(args.iteration);
  if (elements == 0 || (size() > 0 && elements != elements_)) return false;
  Draft draft;
  draft.kernel.args = &args;
  draft.bounds = bounds_;
  draft.aligned = aligned_ || may_cast_to_uint32(args);
  draft.item_size = std::max(item_size_, largest_item(args));
  place_operands(args, memories, &draft);
  if (!is_in_order(draft)) return false;
  if (const FusibleKernel* fusible = find_fusible(args)) {
    draft.kernel.whole = fusible->pieces(args);
    add_bounds(args.iteration, &draft.bounds);
  } else if (!make_reduction(args, &draft)) {
    return false;
  }
  if (!make_chain(&draft.bounds) || !choose_tiling(draft, &draft.tiling)) return false;
  elements_ = elements;
  take(std::move(draft), memories);
  return true;
}

int FusionGroup::find(void* id) const {
  for (size_t i = 0; i < memories_.size(); ++i) {
    if (memories_[i].id == id) return static_cast<int>(i);
  }
  return -1;
}

void FusionGroup::place_operands(const KernelArgs& args, void* const* memories,
                                 Draft* draft) const {
  const int operands = args.iteration.operands;
  int known = static_cast<int>(memories_.size());
  for (int k = 0; k < operands; ++k) {
    int& memory = draft->kernel.memory[k] = -1;
    if (!memories[k]) continue;
    memory = find(memories[k]);
    for (int i = 0; i < k && memory < 0; ++i) {
      if (memories[i] == memories[k]) memory = draft->kernel.memory[i];
    }
    if (memory < 0) memory = known++;
    draft->places.push_back(make_place(args, k, memory));
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

/// A reduction of something that the group has written.
bool FusionGroup::make_reduction(const KernelArgs& args, Draft* draft) const {
  if (args.kernel != reduce_kernel) return false;
  const int input = draft->kernel.memory[0];
  const auto writes_input = [&](const Place& place) {
    return place.memory == input && place.written;
  };
  if (std::none_of(places_.begin(), places_.end(), writes_input)) return false;
  draft->reduction = TiledReduction::make(args, kTileBytes / draft->item_size);
  if (!draft->reduction) return false;
  if (draft->reduction->sum()) return draft->bounds.size() == 2;  // all the others are one row
  draft->bounds.push_back(draft->reduction->step());
  return true;
}

/// Steps of `unit` elements in a tile, of the `run` steps of a run; 0: there is no such number.
int64_t FusionGroup::steps_of_tile(const Draft& draft, int64_t unit, int64_t run) {
  const int64_t whole = draft.reduction ? draft.reduction->unit() : 1;
  const auto fits = [&](int64_t steps, int64_t multiple) {
    return steps * unit % multiple == 0 || (steps == run && unit * run == draft.bounds.back());
  };
  int64_t steps = std::max<int64_t>(1, kTileBytes / draft.item_size / unit);
  const int64_t must = std::lcm(whole, draft.aligned ? kUint32Vector : 1);
  const int64_t better = std::lcm(must, kVectors);
  for (const int64_t multiple : {better, must}) {
    const int64_t least = multiple / std::gcd(unit, multiple);
    const int64_t rounded = std::max(least, steps - steps % least);
    if (rounded <= run && rounded <= kMostTiles * steps) return rounded;
  }
  steps = run;
  return fits(steps, must) ? steps : 0;
}

/// Tiles as near to the wanted size as the rows of the kernels allow.
bool FusionGroup::choose_tiling(const Draft& draft, Tiling* tiling) const {
  const int64_t wanted = kTileBytes / draft.item_size;
  for (size_t i = 0; i + 1 < draft.bounds.size(); ++i) {
    const int64_t unit = draft.bounds[i], run = draft.bounds[i + 1] / unit;
    const int64_t steps = steps_of_tile(draft, unit, run);
    const int64_t size = steps * unit;
    if (steps == 0 || size > kMostTiles * wanted) continue;
    const auto can_cut = [&](const Kernel& kernel) {
      return row_of(kernel, unit).first < kernel.whole.end;
    };
    const bool possible = std::all_of(kernels_.begin(), kernels_.end(), can_cut) &&
                          (draft.reduction || can_cut(draft.kernel));
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
  int64_t inner = 1;
  int d = iteration.ndim - 1;
  for (; d > 0 && inner * iteration.rows[d].dim <= unit; --d) inner *= iteration.rows[d].dim;
  return {d, inner};
}

void FusionGroup::take(Draft&& draft, void* const* memories) {
  const Place* place = draft.places.data();
  for (int k = 0; k < draft.kernel.args->iteration.operands; ++k) {
    if (memories[k]) add_use(*place++, memories[k], draft.reduction != nullptr);
  }
  places_.insert(places_.end(), draft.places.begin(), draft.places.end());
  kernels_.push_back(draft.kernel);
  bounds_ = std::move(draft.bounds);
  aligned_ = draft.aligned;
  item_size_ = draft.item_size;
  tiling_ = draft.tiling;
  reduction_ = std::move(draft.reduction);
}

/// Notes that the next kernel uses a memory. Internal are those that are one row of elements, as
/// tiles are, and nothing else.
void FusionGroup::add_use(const Place& place, void* id, bool reduces) {
  const bool flat =
      place.dims.size() == 1 && place.dims[0] == elements_ && place.strides[0] == place.item_size;
  if (place.memory == static_cast<int>(memories_.size())) {
    Memory memory;
    memory.id = id;
    memory.internal = place.written;
    memory.first = size();
    memory.offset = place.offset;
    memory.item_size = place.item_size;
    memories_.push_back(memory);
  }
  Memory& memory = memories_[place.memory];
  const bool same = memory.offset == place.offset && memory.item_size == place.item_size;
  memory.internal = memory.internal && flat && same && !(reduces && place.written);
  memory.written = memory.written || place.written;
  memory.last = size();
  ++memory.uses;
}

}  // namespace ofl::ops
