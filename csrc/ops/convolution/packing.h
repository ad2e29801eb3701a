// Factors of a product in the order in which tiles read them. An element is at a row's offset plus
// a column's, so unfolded images are never in memory.
//
//   from[rows[i] + columns[j]] ─► runs of columns ─► panels of some columns, term after term
//                                                 └► slivers of some rows, term after term
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "ops/convolution/tile.h"
#include "ops/elementwise/block_transpose.h"

namespace ofl::ops {

/// In elements.
using Offsets = std::vector<int64_t>;

/// A sum is cut into equal parts of at most so many terms, each of which is summed for itself.
inline constexpr int64_t kMostTerms = 512;

struct Parts {
  explicit Parts(int64_t terms) : terms(terms) {
    count = std::max<int64_t>(1, (terms + kMostTerms - 1) / kMostTerms);
    depth = (terms + count - 1) / count;
  }
  int64_t first(int64_t part) const { return part * depth; }
  int64_t length(int64_t part) const { return std::min(depth, terms - first(part)); }

  int64_t terms, count, depth;
};

/// Columns in one step.
struct Run {
  int64_t start, count, offset, step;
};

inline std::vector<Run> runs_of(const int64_t* offsets, int64_t count) {
  std::vector<Run> runs;
  for (int64_t i = 0; i < count;) {
    Run run{i, 1, offsets[i], 1};
    if (i + 1 < count) run.step = offsets[i + 1] - offsets[i];
    while (i + run.count < count &&
           offsets[i + run.count] - offsets[i + run.count - 1] == run.step) {
      ++run.count;
    }
    i += run.count;
    runs.push_back(run);
  }
  return runs;
}

/// Elements that may be read, and where the first one is.
template <typename T>
struct Source {
  const T* data;
  const T* end;
};

/// The rows of a tile that is not packed, which are at these places.
template <typename T>
void place_rows(const T* from, const int64_t* places, const std::vector<Run>& runs, Tile<T>* tile) {
  const bool is_run = runs.size() == 1;
  tile->a = is_run ? from + runs[0].offset : from;
  tile->a_rows = is_run ? nullptr : places;
  tile->a_step = is_run ? runs[0].step : 0;
}

/// Elements behind a packed panel that may be written.
inline constexpr int64_t kSlack = 16;

/// Elements that are copied together.
template <typename T>
inline constexpr int64_t kChunk = 64 / sizeof(T);

/// to[j] = the elements of a run. Up to kSlack elements behind it get any value.
template <typename T>
inline void copy_run(const Run& run, const T* from, const T* end, T* to) {
  static_assert(kChunk<T> <= kSlack);
  if (run.step == 1 && from + (run.count + kChunk<T>) <= end) {
    for (int64_t j = 0; j < run.count; j += kChunk<T>) std::memcpy(to + j, from + j, 64);
    return;
  }
  for (int64_t j = 0; j < run.count; ++j) to[j] = from[j * run.step];
}

/// Columns of a panel up to the end of the last vector that tiles of so many columns read.
inline int64_t read_by_tiles(int64_t columns, int64_t lanes) {
  return (columns + lanes - 1) / lanes * lanes;
}

/// Whether copy_run() may read whole chunks of each run, at each of the terms.
template <typename T>
inline bool reads_chunks(const Source<T>& from, const int64_t* terms, int64_t depth,
                         const std::vector<Run>& columns) {
  if (depth == 0) return false;
  const int64_t last = *std::max_element(terms, terms + depth);
  return std::all_of(columns.begin(), columns.end(), [&](const Run& run) {
    const int64_t end = last + run.offset + run.count + kChunk<T>;
    return run.step == 1 && end <= from.end - from.data;
  });
}

/// A panel of full width, from one or two runs of dense elements: the usual ones, without a choice
/// for each of the terms.
template <int Runs, typename T>
inline void pack_dense(const T* from, const int64_t* terms, int64_t depth, const Run* columns,
                       int64_t width, T* to) {
  for (int64_t l = 0; l < depth; ++l, to += width) {
    for (int i = 0; i < Runs; ++i) {
      const T* const row = from + terms[l] + columns[i].offset;
      for (int64_t j = 0; j < columns[i].count; j += kChunk<T>) {
        std::memcpy(to + columns[i].start + j, row + j, 64);
      }
    }
  }
}

/// A panel: to[l][j] = from[terms[l] + columns[j]], whose columns are given by runs; beyond them
/// are zeros, up to the end of the vector.
template <typename T>
void pack_by_rows(const Source<T>& from, const int64_t* terms, int64_t depth,
                  const std::vector<Run>& columns, int64_t width, int64_t lanes, T* to) {
  const int64_t used = columns.back().start + columns.back().count;
  const int64_t end = read_by_tiles(used, lanes);
  if (used == end && columns.size() <= 2 && reads_chunks(from, terms, depth, columns)) {
    return columns.size() == 1 ? pack_dense<1>(from.data, terms, depth, columns.data(), width, to)
                               : pack_dense<2>(from.data, terms, depth, columns.data(), width, to);
  }
  for (int64_t l = 0; l < depth; ++l, to += width) {
    const T* const row = from.data + terms[l];
    for (const Run& run : columns) copy_run(run, row + run.offset, from.end, to + run.start);
    std::fill(to + used, to + end, T(0));
  }
}

/// The same, or (width: the number of columns) a sliver, column by column: for terms in runs.
template <typename T>
void pack_by_columns(const T* from, const std::vector<Run>& terms, const int64_t* columns,
                     int64_t count, int64_t width, T* to) {
  const int64_t depth = terms.back().start + terms.back().count;
  for (int64_t j = 0; j < width; ++j) {
    if (j >= count) {
      for (int64_t l = 0; l < depth; ++l) to[l * width + j] = T(0);
      continue;
    }
    for (const Run& run : terms) {
      const T* value = from + columns[j] + run.offset;
      T* const first = to + run.start * width + j;
      for (int64_t l = 0; l < run.count; ++l, value += run.step) first[l * width] = *value;
    }
  }
}

/// A panel of channels: to[p][c] = from[channels[c] + positions[p]], whose positions are given by
/// runs; beyond the channels are zeros, up to the end of the vector.
template <typename T>
void pack_channels(const T* from, const std::vector<Run>& positions, const int64_t* channels,
                   int64_t count, int64_t width, int64_t lanes, T* to) {
  constexpr auto kItem = static_cast<int64_t>(sizeof(T));
  constexpr int64_t kAtATime = 64;  // positions: what is written stays in the L1 cache
  static const BlockTranspose block = block_transpose(sizeof(T));
  const int64_t step = count > 1 ? channels[1] - channels[0] : 0;
  bool is_dense = block.side > 0;  // else channel by channel
  for (int64_t c = 1; c < count; ++c) is_dense = is_dense && channels[c] - channels[c - 1] == step;
  const auto pack_some = [&](const Run& run, int64_t begin, int64_t end) {
    const int64_t blocks = is_dense && run.step == 1 ? (end - begin) / block.side : 0;
    const int64_t across = blocks > 0 ? count / block.side * block.side : 0;
    for (int64_t c = 0; c < count; ++c) {
      const T* const channel = from + channels[c] + run.offset;
      if (c < across && c % block.side == 0) {
        for (int64_t i = 0; i < blocks; ++i) {
          const int64_t p = begin + i * block.side;
          char* places[kMostSide];
          for (int64_t k = 0; k < block.side; ++k) {
            places[k] = reinterpret_cast<char*>(to + (run.start + p + k) * width + c);
          }
          block.run(reinterpret_cast<const char*>(channel + p), step * kItem, places, 0);
        }
      }
      const int64_t first = c < across ? begin + blocks * block.side : begin;
      for (int64_t p = first; p < end; ++p) {
        to[(run.start + p) * width + c] = channel[p * run.step];
      }
    }
    for (int64_t p = begin; p < end; ++p) {
      T* const line = to + (run.start + p) * width;
      std::fill(line + count, line + read_by_tiles(count, lanes), T(0));
    }
  };
  for (const Run& run : positions) {
    for (int64_t begin = 0; begin < run.count; begin += kAtATime) {
      pack_some(run, begin, std::min(begin + kAtATime, run.count));
    }
  }
}

/// A sliver: to[l][r] = from[rows[r] + terms[l]].
template <typename T>
void pack_sliver(const T* from, const int64_t* rows, int count, const int64_t* terms, int64_t depth,
                 T* to) {
  for (int64_t l = 0; l < depth; ++l) {
    const T* const column = from + terms[l];
    for (int r = 0; r < count; ++r) *to++ = column[rows[r]];
  }
}

/// For each vector of columns: they follow each other.
inline std::vector<uint8_t> contiguous_vectors(const Offsets& columns, int lanes) {
  const auto count = static_cast<int64_t>(columns.size());
  std::vector<uint8_t> found;
  for (int64_t first = 0; first < count; first += lanes) {
    bool are = true;
    for (int64_t j = first + 1; j < std::min(first + lanes, count); ++j) {
      are = are && columns[j] == columns[j - 1] + 1;
    }
    found.push_back(are);
  }
  return found;
}

}  // namespace ofl::ops
