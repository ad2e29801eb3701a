// A tile of a product: some rows and a panel of columns, whose sums stay in registers.
#pragma once

#include <cstdint>

namespace ofl::ops {

/// out[r][j] = (or +=) the sum over l of a[l][r] * panel[l][j], added in this order to 0, each
/// product and its addition rounded once.
template <typename T>
struct Tile {
  int64_t depth;          // terms of the sum
  const T* a;             // packed: [depth][rows]; else its first element, and
  const int64_t* terms;   // null, or where its terms are: at a + terms[l] + r * step
  int64_t step;
  const T* panel;         // [depth][width], aligned to vectors
  T* out;
  const int64_t* out_rows;     // where a row begins
  const int64_t* out_columns;  // and its columns
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

extern template const TileLoops<float>& tile_loops<float>();
extern template const TileLoops<double>& tile_loops<double>();

}  // namespace ofl::ops
