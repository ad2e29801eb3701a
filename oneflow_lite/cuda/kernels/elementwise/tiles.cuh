// Copies whose input and output are contiguous along different axes: through tiles in shared
// memory, so that neighbouring threads read and write neighbouring elements.
#include "ops/cuda/layout/elementwise.h"

namespace ofl {

/// The last row is contiguous in the output, the one before in the input. `count` is of tiles.
/// A block has a tile at a time; all its threads make the same number of steps.
template <typename Body, typename Index, typename Out, typename In, int capacity>
void run_tiles(const ElementwiseArgs<capacity>& args) {
  // One more column: what one column holds then lies in 32 different banks.
  __shared__ Stored<In> tile[kTileSide][kTileSide + 1];
  typedef typename OffsetOf<Index>::type Offset;
  const ElementwiseRow& across = args.rows[args.ndim - 2];
  const ElementwiseRow& along = args.rows[args.ndim - 1];
  const Index across_tiles = (Index(across.dim) + kTileSide - 1) / kTileSide;
  const Index along_tiles = (Index(along.dim) + kTileSide - 1) / kTileSide;
  const int x = threadIdx.x % kTileSide, y = threadIdx.x / kTileSide;
#pragma unroll 1
  for (Index i = blockIdx.x; i < Index(args.count); i += gridDim.x) {
    const Index rest = i / along_tiles, other = rest / across_tiles;
    const Index along_first = (i - rest * along_tiles) * kTileSide;
    const Index across_first = (rest - other * across_tiles) * kTileSide;
    Offset offsets[2];
    find_offsets<2>(args.rows, args.ndim - 2, other, offsets);
    const char* from = static_cast<const char*>(args.data[0]) + offsets[0];
    char* to = static_cast<char*>(args.data[1]) + offsets[1];
    const Index a = across_first + x;
#pragma unroll
    for (int j = y; j < kTileSide; j += kTileHeight) {
      const Index b = along_first + j;
      if (a < Index(across.dim) && b < Index(along.dim)) {
        tile[j][x] = *reinterpret_cast<const Stored<In>*>(
            from + Offset(a * Index(across.strides[0]) + b * Index(along.strides[0])));
      }
    }
    __syncthreads();
    const Index c = along_first + x;
#pragma unroll
    for (int j = y; j < kTileSide; j += kTileHeight) {
      const Index d = across_first + j;
      if (d < Index(across.dim) && c < Index(along.dim)) {
        reinterpret_cast<Stored<Out>*>(
            to + Offset(d * Index(across.strides[1]) + c * Index(along.strides[1])))
            ->set(Body::apply(args, tile[x][j].get()));
      }
    }
    __syncthreads();  // before the tile is written again
  }
}

}  // namespace ofl
