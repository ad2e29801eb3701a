// A tile of a product: some rows and a panel of columns, whose sums stay in registers.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ofl::ops {

/// out[r][j] = (or +=) the sum over l of a[l][r] * panel[l][j], added in this order to 0, each
/// product and its addition rounded once. Panels that are read as they lie need a packed a.
template <typename T>
struct Tile {
  int64_t depth;          // terms of the sum
  const T* a;             // packed: [depth][rows]; else it is read as it lies, and
  const int64_t* terms;   // an element is at a + terms[l] + a_rows[r]; null where it is packed
  const int64_t* a_rows;  // null where a row is at r * a_step
  int64_t a_step;
  const T* panel;              // packed: [depth][width]; else vectors are read as they lie, and
  const int64_t* panel_terms;  // vector v is at vectors[v] + panel_terms[l]; null where packed
  const T* vectors[2];
  T* out;
  const int64_t* out_rows;        // where a row begins
  const int64_t* out_columns;     // and its columns
  const uint8_t* are_contiguous;  // for each vector of columns: they follow each other
  int rows, columns;
  bool adds;  // to what is there
};

/// The loops for an instruction set. `rows` and `width` are the most of a tile.
template <typename T>
struct TileLoops {
  void (*multiply)(const Tile<T>& tile);
  int rows, width, lanes;
};

/// Those that this processor has. T is float or double. Bits do not depend on the set, where the
/// processor has fused multiply-adds.
template <typename T>
const TileLoops<T>& tile_loops();

/// About the cycles that one term of a product takes, which is cut into tiles.
template <typename T>
inline double cycles_of_tiles(int64_t rows, int64_t columns, const TileLoops<T>& loops) {
  const int64_t slices = (rows + loops.rows - 1) / loops.rows, full = columns / loops.width;
  const int64_t rest = (columns % loops.width + loops.lanes - 1) / loops.lanes;
  const auto cycles = [&](int64_t vectors) {
    // Two sums a cycle; the next term of a sum waits four cycles.
    const double sums = static_cast<double>(rows * vectors) / static_cast<double>(slices);
    return std::max(sums / 2, 4.0);
  };
  const double tiles = static_cast<double>(full) * cycles(loops.width / loops.lanes);
  return static_cast<double>(slices) * (tiles + (rest > 0 ? cycles(rest) : 0));
}

extern template const TileLoops<float>& tile_loops<float>();
extern template const TileLoops<double>& tile_loops<double>();

}  // namespace ofl::ops
