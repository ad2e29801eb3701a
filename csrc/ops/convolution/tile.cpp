#include "ops/convolution/tile.h"

#include <algorithm>

#include "base/vectors.h"
#include "ops/convolution/lanes.h"

namespace ofl::ops {

namespace {

/// Vectors of a panel.
constexpr int kVectors = 2;

/// One vector of sums to where its columns lie.
template <typename T, typename V>
inline void put_vector(const Tile<T>& tile, int r, int v, const T* sums) {
  T* const row = tile.out + tile.out_rows[r];
  const int first = v * V::kLanes, count = std::min(V::kLanes, tile.columns - first);
  if (count == V::kLanes && tile.are_contiguous[v]) {
    V::put(row + tile.out_columns[first], V::load(sums), tile.adds);
    return;
  }
  for (int j = 0; j < count; ++j) {
    T* const to = row + tile.out_columns[first + j];
    *to = tile.adds ? *to + sums[j] : sums[j];
  }
}

template <typename T, typename V, int Rows, int Vectors, bool Packed>
inline void multiply_tile(const Tile<T>& tile) {
  typename V::Type sums[Rows][Vectors];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) sums[r][v] = V::zero();
  }
  const T* panel = tile.panel;
  const T* a = tile.a;
  const int64_t step = tile.step;
  for (int64_t l = 0; l < tile.depth; ++l, panel += kVectors * V::kLanes) {
    typename V::Type right[Vectors];
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) right[v] = V::load(panel + v * V::kLanes);
    const T* const left = Packed ? a + l * Rows : a + tile.terms[l];
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const auto value = V::spread(Packed ? left + r : left + r * step);
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) V::multiply_add(value, right[v], sums[r][v]);
    }
  }
  // From registers, whose numbers the code must name, to memory, where a loop finds them.
  T values[Rows * Vectors][V::kLanes];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) V::put(values[r * Vectors + v], sums[r][v], false);
  }
#pragma GCC unroll 0
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) put_vector<T, V>(tile, r, v, values[r * Vectors + v]);
  }
}

/// The one for the tile's number of rows.
template <typename T, typename V, int Vectors, bool Packed, int Rows = V::kRows>
inline void multiply_rows(const Tile<T>& tile) {
  if (tile.rows == Rows) return multiply_tile<T, V, Rows, Vectors, Packed>(tile);
  if constexpr (Rows > 1) multiply_rows<T, V, Vectors, Packed, Rows - 1>(tile);
}

template <typename T, typename V>
inline void multiply_by(const Tile<T>& tile) {
  const bool is_narrow = tile.columns <= V::kLanes;
  if (tile.terms) {
    if (is_narrow) return multiply_rows<T, V, 1, false>(tile);
    return multiply_rows<T, V, kVectors, false>(tile);
  }
  if (is_narrow) return multiply_rows<T, V, 1, true>(tile);
  multiply_rows<T, V, kVectors, true>(tile);
}

template <typename V>
constexpr int kWidth = kVectors * V::kLanes;

template <typename T>
void multiply_128(const Tile<T>& tile) {
  multiply_by<T, PlainLanes<T>>(tile);
}

#ifdef OFL_X86_VECTORS
// The same code for the vectors of each processor: all that it calls is inlined into it.
template <typename T>
OFL_AVX2_FMA OFL_FLAT void multiply_256(const Tile<T>& tile) {
  multiply_by<T, Lanes256<T>>(tile);
}
template <typename T>
OFL_AVX512 OFL_FLAT void multiply_512(const Tile<T>& tile) {
  multiply_by<T, Lanes512<T>>(tile);
}

template <typename T>
TileLoops<T> choose() {
  using Loops = TileLoops<T>;
  using Plain = PlainLanes<T>;
  using Half = Lanes256<T>;
  using Full = Lanes512<T>;
  return choose_by_isa<Loops>(
      "convolution", {multiply_128<T>, Plain::kRows, kWidth<Plain>, Plain::kLanes},
      {multiply_256<T>, Half::kRows, kWidth<Half>, Half::kLanes},
      {multiply_512<T>, Full::kRows, kWidth<Full>, Full::kLanes});
}
#else
template <typename T>
TileLoops<T> choose() {
  using Plain = PlainLanes<T>;
  return {multiply_128<T>, Plain::kRows, kWidth<Plain>, Plain::kLanes};
}
#endif

}  // namespace

template <typename T>
const TileLoops<T>& tile_loops() {
  static const TileLoops<T> chosen = choose<T>();
  return chosen;
}

template const TileLoops<float>& tile_loops<float>();
template const TileLoops<double>& tile_loops<double>();

}  // namespace ofl::ops
