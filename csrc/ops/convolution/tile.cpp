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

/// Where the elements of the factors are: the left one is packed, but for at_steps and anywhere,
/// and so is the right one, but for as_it_lies.
enum class Factors { packed, at_steps, anywhere, as_it_lies };

template <typename T, typename V, int Rows, int Vectors, Factors Kind>
inline void multiply_tile(const Tile<T>& tile) {
  typename V::Type sums[Rows][Vectors];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) sums[r][v] = V::zero();
  }
  const T* panel = tile.panel;
  const T* a = tile.a;
  const int64_t step = tile.a_step;
  const T* rows[Rows];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) rows[r] = Kind == Factors::anywhere ? a + tile.a_rows[r] : nullptr;
  constexpr bool is_packed = Kind == Factors::packed || Kind == Factors::as_it_lies;
  for (int64_t l = 0; l < tile.depth; ++l, panel += kVectors * V::kLanes) {
    typename V::Type right[Vectors];
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) {
      right[v] = V::load(Kind == Factors::as_it_lies ? tile.vectors[v] + tile.panel_terms[l]
                                                     : panel + v * V::kLanes);
    }
    const int64_t term = is_packed ? l * Rows : tile.terms[l];
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const T* const row = is_packed ? a + r : Kind == Factors::at_steps ? a + r * step : rows[r];
      const auto value = V::spread(row + term);
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

/// The one for the tile's number of rows. Each is a function of its own: one that holds them all
/// takes several times as long to compile.
template <typename T, typename By, int Vectors, Factors Kind, int Rows = By::Lanes::kRows>
void multiply_rows(const Tile<T>& tile) {
  if (tile.rows == Rows) return By::template multiply<Rows, Vectors, Kind>(tile);
  if constexpr (Rows > 1) multiply_rows<T, By, Vectors, Kind, Rows - 1>(tile);
}

template <typename T, typename By, int Vectors>
void multiply_vectors(const Tile<T>& tile) {
  if (tile.panel_terms) return multiply_rows<T, By, Vectors, Factors::as_it_lies>(tile);
  if (!tile.terms) return multiply_rows<T, By, Vectors, Factors::packed>(tile);
  if (tile.a_rows) return multiply_rows<T, By, Vectors, Factors::anywhere>(tile);
  multiply_rows<T, By, Vectors, Factors::at_steps>(tile);
}

template <typename T, typename By>
void multiply_by(const Tile<T>& tile) {
  tile.columns <= By::Lanes::kLanes ? multiply_vectors<T, By, 1>(tile)
                                    : multiply_vectors<T, By, kVectors>(tile);
}

template <typename V>
constexpr int kWidth = kVectors * V::kLanes;

template <typename T, typename By>
constexpr TileLoops<T> kLoops = {multiply_by<T, By>, By::Lanes::kRows, kWidth<typename By::Lanes>,
                                 By::Lanes::kLanes};

template <typename T>
struct By128 {
  using Lanes = PlainLanes<T>;
  template <int Rows, int Vectors, Factors Kind>
  static void multiply(const Tile<T>& tile) {
    multiply_tile<T, Lanes, Rows, Vectors, Kind>(tile);
  }
};

#ifdef OFL_X86_VECTORS
// The same code for the vectors of each processor: all that it calls is inlined into it.
template <typename T>
struct By256 {
  using Lanes = Lanes256<T>;
  template <int Rows, int Vectors, Factors Kind>
  OFL_AVX2_FMA OFL_FLAT static void multiply(const Tile<T>& tile) {
    multiply_tile<T, Lanes, Rows, Vectors, Kind>(tile);
  }
};
template <typename T>
struct By512 {
  using Lanes = Lanes512<T>;
  template <int Rows, int Vectors, Factors Kind>
  OFL_AVX512 OFL_FLAT static void multiply(const Tile<T>& tile) {
    multiply_tile<T, Lanes, Rows, Vectors, Kind>(tile);
  }
};

template <typename T>
TileLoops<T> choose() {
  using Loops = TileLoops<T>;
  return choose_by_isa<Loops>("convolution", kLoops<T, By128<T>>, kLoops<T, By256<T>>,
                              kLoops<T, By512<T>>);
}
#else
template <typename T>
TileLoops<T> choose() {
  return kLoops<T, By128<T>>;
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
