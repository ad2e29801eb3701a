// Elements at places that index arrays give.
#include "ops/cuda/layout/index.h"

namespace ofl {

template <typename Word, int arrays, typename Index>
void gather(const GatherArgs<arrays>& args) {
  const Index count = Index(args.count);
  const Index step = Index(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (Index i = Index(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    auto spot = find_spot(args.nest, i);
    if (!add_places(args.nest, &spot)) continue;
    *reinterpret_cast<Word*>(args.lined + as_offset(spot.lined)) =
        *reinterpret_cast<const Word*>(args.placed + as_offset(spot.placed));
  }
}

}  // namespace ofl
