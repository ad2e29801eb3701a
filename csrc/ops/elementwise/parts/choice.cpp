#include "base/vectors.h"
#include "ops/elementwise/parts/parts.h"

namespace ofl::ops {

void use_part_loop(Part part, Resolution* resolution) {
  if (part == Part::none) return;
  const PartLoops* const none = nullptr;
  static const PartLoops* const wide = choose_by_isa("parts", none, kPartLoops256);
  const LoopFn loop = wide ? wide->find(part, *resolution) : find_part_loop(part, *resolution);
  if (!loop) return;
  resolution->data = new CalledLoop{resolution->loop, resolution->data};  // as long as the row
  resolution->loop = loop;
}

}  // namespace ofl::ops
