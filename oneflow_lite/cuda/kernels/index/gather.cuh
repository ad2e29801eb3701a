// Elements at places that index arrays give.

namespace ofl {

template <int arrays>
struct GatherArgs {
  int64 count;  // items: words
  const char* placed;
  char* lined;
  Indexing<arrays> nest;
};

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
