// Convolutions as products whose factors are found by tables: nothing is unfolded. Each element is
// summed in the order of its terms, by one thread, so the bits depend on neither device nor layout.
//
//   tables ─► offsets ─► shared memory, [k][row] ─► registers ─► sums
#include "ops/cuda/layout/convolution.h"

namespace ofl {

// --- the tables

inline int64 channel_offset(const int64* steps, int64 lanes, int64 channel) {
  return channel / lanes * steps[1] + channel % lanes * steps[4];
}

/// A term of a sum over channels and the window.
struct WindowTerm {
  int64 channel, y, x;
};

/// In the order: block of channels, y, x, channel in its block.
inline WindowTerm window_term(const ConvolutionArgs& args, int64 channels, int64 index) {
  const int64 window = args.window[kOfY] * args.window[kOfX];
  const int64 first = index / (window * kSumBlock) * kSumBlock;
  const int64 rest = index - first * window;
  const int64 size = channels - first < kSumBlock ? channels - first : int64(kSumBlock);
  const int64 place = rest / size;
  return {first + rest % size, place / args.window[kOfX], place % args.window[kOfX]};
}

/// In the order in which weights lie: channel, y, x.
inline WindowTerm window_column(const ConvolutionArgs& args, int64 index) {
  const int64 window = args.window[kOfY] * args.window[kOfX], place = index % window;
  return {index / window, place / args.window[kOfX], place % args.window[kOfX]};
}

inline void fill_position(const ConvolutionArgs& args, int64 index) {
  const bool is_gradient = args.form == kInputGradient;
  const int64* const extents = is_gradient ? args.image : args.places;
  const int64 image = index / (extents[kOfY] * extents[kOfX]);
  const int64 y = index / extents[kOfX] % extents[kOfY], x = index % extents[kOfX];
  Tap tap;
  if (is_gradient) {
    tap.offset = image * args.result_steps[0];
    tap.y = int32(y + args.before[kOfY]);
    tap.x = int32(x + args.before[kOfX]);
  } else {
    tap.offset = image * args.image_steps[0];
    tap.y = int32(y * args.stride[kOfY] - args.before[kOfY]);
    tap.x = int32(x * args.stride[kOfX] - args.before[kOfX]);
  }
  const int64* const steps = is_gradient ? args.image_steps : args.result_steps;
  args.positions[index] = tap;
  args.position_offsets[index] = image * steps[0] + y * steps[2] + x * steps[3];
}

/// Of number `index` of a group: a term of the sum, or a column.
inline void fill_tap(const ConvolutionArgs& args, int64 group, int64 index, int64 count) {
  const bool is_gradient = args.form == kInputGradient;
  const int64 channels = is_gradient ? args.out : args.in;
  const WindowTerm term = args.form == kWeightGradient ? window_column(args, index)
                                                       : window_term(args, channels, index);
  const int64* const steps = is_gradient ? args.result_steps : args.image_steps;
  const int64 sign = is_gradient ? -1 : 1;
  Tap tap;
  tap.offset = channel_offset(steps, args.lanes, group * channels + term.channel);
  tap.y = int32(sign * term.y * args.dilation[kOfY]);
  tap.x = int32(sign * term.x * args.dilation[kOfX]);
  args.taps[group * count + index] = tap;
  if (group == 0) {
    args.weight_offsets[index] = term.channel * args.weight_steps[is_gradient ? 0 : 1] +
                                 term.y * args.weight_steps[2] + term.x * args.weight_steps[3];
  }
}

inline void fill_row(const ConvolutionArgs& args, int64 group, int64 index) {
  const int64 channel = group * args.m + index;
  const int64 place = group * args.m + index;
  const int64 of_weights = channel * args.weight_steps[0];
  if (args.form == kForward) {
    args.a_rows[place] = of_weights;
    args.out_rows[place] = channel_offset(args.result_steps, args.lanes, channel);
  } else if (args.form == kInputGradient) {
    args.a_rows[place] = group * args.out * args.weight_steps[0] + index * args.weight_steps[1];
    args.out_rows[place] = channel_offset(args.image_steps, args.lanes, channel);
  } else {
    args.a_rows[place] = channel_offset(args.result_steps, args.lanes, channel);
    args.out_rows[place] = of_weights;
  }
}

/// The first kernel: each item is an entry.
inline void run_tables(const ConvolutionArgs& args) {
  const bool is_of_weights = args.form == kWeightGradient;
  const int64 positions = is_of_weights ? args.k : args.n, taps = is_of_weights ? args.n : args.k;
  const int64 all = positions + args.groups * (taps + args.m);
  const int64 step = int64(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (int64 i = int64(blockIdx.x) * blockDim.x + threadIdx.x; i < all; i += step) {
    const int64 tap = i - positions, row = tap - args.groups * taps;
    if (tap < 0) {
      fill_position(args, i);
    } else if (row < 0) {
      fill_tap(args, tap / taps, tap % taps, taps);
    } else {
      fill_row(args, row / args.m, row % args.m);
    }
  }
}

// --- the product

/// What b is of: images, and where in them elements are.
struct Seen {
  const char* data;
  int64 row_step, column_step;
  int64 extents[2], strides[2];  // places between strides have no element

  Seen(const ConvolutionArgs& args) {
    const bool is_gradient = args.form == kInputGradient;
    const int64* const steps = is_gradient ? args.result_steps : args.image_steps;
    data = static_cast<const char*>(is_gradient ? args.results : args.images);
    row_step = steps[2];
    column_step = steps[3];
#pragma unroll
    for (int d = 0; d < 2; ++d) {
      extents[d] = is_gradient ? args.places[d] : args.image[d];
      strides[d] = is_gradient ? args.stride[d] : 1;
    }
  }

  template <typename T>
  T at(const Tap& one, const Tap& other) const {
    int64 y = one.y + other.y, x = one.x + other.x;
    if (y < 0 || x < 0) return T(0);
    if (strides[kOfY] > 1) {
      if (y % strides[kOfY] != 0) return T(0);
      y /= strides[kOfY];
    }
    if (strides[kOfX] > 1) {
      if (x % strides[kOfX] != 0) return T(0);
      x /= strides[kOfX];
    }
    if (y >= extents[kOfY] || x >= extents[kOfX]) return T(0);
    return *reinterpret_cast<const T*>(data + one.offset + other.offset + y * row_step +
                                       x * column_step);
  }
};

/// A tile of the result of a group.
struct ConvolutionTile {
  int64 group, row, column;
};

inline ConvolutionTile convolution_tile(const ConvolutionArgs& args, int64 index, int rows,
                                        int columns) {
  const int64 down = (args.m + rows - 1) / rows, across = (args.n + columns - 1) / columns;
  const int64 group = index / (down * across), rest = index - group * (down * across);
  return {group, rest % down * rows, rest / down * columns};
}

/// Each thread makes `own_rows` x `own_columns` elements of a tile of `rows` x `columns`.
template <typename T, int rows, int columns, int depth, int own_rows, int own_columns>
void run_convolution(const ConvolutionArgs& args) {
  enum { threads = rows / own_rows * (columns / own_columns), across = columns / own_columns };
  enum { a_count = rows * depth / threads, b_count = columns * depth / threads };
  __shared__ T slice_a[depth][rows + 1];
  __shared__ T slice_b[depth][columns + 1];
  const bool is_of_weights = args.form == kWeightGradient;
  const Seen seen(args);
  const char* const a = static_cast<const char*>(is_of_weights ? args.results : args.weights);
  char* const out = static_cast<char*>(is_of_weights           ? args.weights
                                       : args.form == kForward ? args.results
                                                               : args.images);
  const int64* const a_terms = is_of_weights ? args.position_offsets : args.weight_offsets;
  const int64* const out_columns = is_of_weights ? args.weight_offsets : args.position_offsets;
  const int64 tiles = (args.m + rows - 1) / rows * ((args.n + columns - 1) / columns) * args.groups;
  const int own_row = threadIdx.x / across, own_column = threadIdx.x % across;
#pragma unroll 1
  for (int64 index = blockIdx.x; index < tiles; index += gridDim.x) {
    const ConvolutionTile tile = convolution_tile(args, index, rows, columns);
    const int64* const a_rows = args.a_rows + tile.group * args.m;
    const int64* const out_rows = args.out_rows + tile.group * args.m;
    const Tap* const terms = is_of_weights ? args.positions : args.taps + tile.group * args.k;
    const Tap* const places = is_of_weights ? args.taps + tile.group * args.n : args.positions;
    T sums[own_rows][own_columns] = {};
#pragma unroll 1
    for (int64 first = 0; first < args.k; first += depth) {
#pragma unroll
      for (int i = 0; i < a_count; ++i) {
        const int element = threadIdx.x + i * threads, l = element % depth, r = element / depth;
        const bool is_there = first + l < args.k && tile.row + r < args.m;
        slice_a[l][r] =
            is_there ? *reinterpret_cast<const T*>(a + a_rows[tile.row + r] + a_terms[first + l])
                     : T(0);
      }
#pragma unroll
      for (int i = 0; i < b_count; ++i) {
        const int element = threadIdx.x + i * threads, l = element / columns, j = element % columns;
        const bool is_there = first + l < args.k && tile.column + j < args.n;
        slice_b[l][j] = is_there ? seen.at<T>(terms[first + l], places[tile.column + j]) : T(0);
      }
      __syncthreads();
#pragma unroll
      for (int l = 0; l < depth; ++l) {
#pragma unroll
        for (int i = 0; i < own_rows; ++i) {
#pragma unroll
          for (int j = 0; j < own_columns; ++j) {
            sums[i][j] = multiply_add(slice_a[l][own_row * own_rows + i],
                                      slice_b[l][own_column + j * across], sums[i][j]);
          }
        }
      }
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < own_rows; ++i) {
      const int64 row = tile.row + own_row * own_rows + i;
#pragma unroll
      for (int j = 0; j < own_columns; ++j) {
        const int64 column = tile.column + own_column + j * across;
        if (row < args.m && column < args.n) {
          *reinterpret_cast<T*>(out + out_rows[row] + out_columns[column]) = sums[i][j];
        }
      }
    }
  }
}

}  // namespace ofl
