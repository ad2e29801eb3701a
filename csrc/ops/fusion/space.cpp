#include "ops/fusion/space.h"

#include <algorithm>

namespace ofl::ops {

bool may_fail(const LoopArgs& args) {
  return args.kernel == KernelId::elementwise && args.op->checks_exponent &&
         is_integer(args.resolution->in[1]);
}

void FusionSpace::add_bounds(const Iteration& iteration, int64_t scale,
                             std::vector<int64_t>* bounds) {
  int64_t inner = scale;
  bounds->insert(bounds->end(), {1, inner});
  for (int d = iteration.ndim - 1; d >= 0; --d) {
    inner *= iteration.rows[d].dim;
    bounds->push_back(inner);
  }
}

bool FusionSpace::make_chain(std::vector<int64_t>* bounds) {
  std::sort(bounds->begin(), bounds->end());
  bounds->erase(std::unique(bounds->begin(), bounds->end()), bounds->end());
  for (size_t i = 1; i < bounds->size(); ++i) {
    if ((*bounds)[i] % (*bounds)[i - 1] != 0) return false;
  }
  return true;
}

/// As the space's elements walk it: along a row that is reduced, its result does not step.
FusionSpace::Place FusionSpace::make_place(const Newcomer& newcomer, int k, int memory) {
  const LoopArgs& args = *newcomer.args;
  Place place;
  place.memory = memory;
  place.written = k == args.iteration.operands - 1;
  place.offset = reinterpret_cast<intptr_t>(args.data[k]);
  place.dtype = args.dtype[k];
  place.item_size = static_cast<int64_t>(size_of(place.dtype));
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
  add_row(newcomer.scale, 0);
  return place;
}

int FusionSpace::find(int16_t base) const {
  for (size_t i = 0; i < memories_.size(); ++i) {
    if (memories_[i].base == base) return static_cast<int>(i);
  }
  return -1;
}

void FusionSpace::place_operands(const int16_t* bases, Newcomer* newcomer) const {
  const int operands = newcomer->args->iteration.operands;
  int known = static_cast<int>(memories_.size());
  for (int k = 0; k < operands; ++k) {
    int& memory = newcomer->memory[k] = -1;
    if (bases[k] < 0) continue;
    memory = find(bases[k]);
    for (int i = 0; i < k && memory < 0; ++i) {
      if (bases[i] == bases[k]) memory = newcomer->memory[i];
    }
    if (memory < 0) memory = known++;
    newcomer->places.push_back(make_place(*newcomer, k, memory));
  }
}

bool FusionSpace::is_in_order(const Newcomer& newcomer) const {
  const auto is_apart = [](const Place& a, const Place& b) {
    if (a.memory != b.memory || (!a.written && !b.written)) return true;
    if (a.high <= b.low || b.high <= a.low) return true;
    return a.same_as(b);
  };
  for (const Place& place : newcomer.places) {
    for (const Place& other : places_) {
      if (!is_apart(place, other)) return false;
    }
    for (const Place& other : newcomer.places) {
      if (!is_apart(place, other)) return false;
    }
  }
  return true;
}

bool FusionSpace::is_flat(const Place& place) const {
  const int64_t first = place.dims.empty() ? 1 : place.dims[0];
  if (place.dims.empty() || place.strides[0] != place.item_size) return false;
  if (place.dims.size() == 1) return first == elements_;
  return place.dims.size() == 2 && place.dims[1] == row_ && place.strides[1] == 0;
}

void FusionSpace::add_uses(const Newcomer& newcomer, const int16_t* bases, int number, bool reduces,
                           bool late) {
  const Place* place = newcomer.places.data();
  for (int k = 0; k < newcomer.args->iteration.operands; ++k) {
    if (bases[k] >= 0) add_use(*place++, bases[k], number, reduces, late);
  }
  places_.insert(places_.end(), newcomer.places.begin(), newcomer.places.end());
}

void FusionSpace::add_use(const Place& place, int16_t base, int number, bool reduces, bool late) {
  if (place.memory == static_cast<int>(memories_.size())) {
    Memory memory;
    memory.base = base;
    memory.begins = place.written && !late;
    memory.reduced = reduces;
    memory.first = number;
    memory.offset = place.offset;
    memory.item_size = place.item_size;
    memory.dtype = place.dtype;
    memory.dims = place.dims;
    memories_.push_back(memory);
  }
  Memory& memory = memories_[place.memory];
  const bool same =
      memory.offset == place.offset && memory.dtype == place.dtype && memory.dims == place.dims;
  memory.plain = memory.plain && is_flat(place) && same;
  memory.written = memory.written || place.written;
  memory.last = number;
  ++memory.uses;
}

}  // namespace ofl::ops
