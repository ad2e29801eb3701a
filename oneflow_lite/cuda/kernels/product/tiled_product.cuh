// Products of any dtype, in plain arithmetic: a block makes a tile of the result, a thread some of
// its elements in registers. While one slice of the operands, `depth` deep, is multiplied, the next
// one is on its way.
//
//   memory ──► registers ──► shared memory, [k][row] ──► registers, 16 bytes at a time ──► sums

namespace ofl {

/// A thread's part of the slices of one operand. What lies outside of it is 0.
template <typename T, int extent, int depth, int threads, bool along_k>
struct SliceLoader {
  typedef typename Terms<T>::Element Element;
  typedef typename Terms<T>::Factor Factor;
  // Threads that follow each other step along what is contiguous.
  enum {
    count = extent * depth / threads,
    row_step = along_k ? threads / depth : 0,
    depth_step = along_k ? 0 : threads / extent,
    pitch = extent + 16 / sizeof(Factor)  // of shared memory: banks differ, and vectors are aligned
  };
  static_assert(along_k ? threads % depth == 0 : threads % extent == 0, "no whole steps");

  const char* next;
  int64 step, advance;  // bytes: to its next element, to the next slice
  int row, place, rows;
  Factor held[count];

  SliceLoader(const char* first, int64 row_bytes, int64 k_bytes, int64 rows_left)
      : row(along_k ? threadIdx.x / depth : threadIdx.x % extent),
        place(along_k ? threadIdx.x % depth : threadIdx.x / extent),
        rows(least(rows_left, extent)) {
    next = first + row * row_bytes + place * k_bytes;
    step = along_k ? row_step * row_bytes : depth_step * k_bytes;
    advance = depth * k_bytes;
  }

  void load(int64 k_left) {
    const int deep = least(k_left, depth);
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const bool is_there = row + i * row_step < rows && place + i * depth_step < deep;
      held[i] = Factor();
      if (is_there) held[i] = Terms<T>::factor(*reinterpret_cast<const Element*>(next + i * step));
    }
    next += advance;
  }

  void store(Factor* slice) const {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      slice[(place + i * depth_step) * pitch + row + i * row_step] = held[i];
    }
  }
};

/// `size` values of a line of shared memory: pieces of 16 bytes, `extent / pieces` apart.
template <typename Factor, int extent, int size>
struct Line {
  enum { width = 16 / sizeof(Factor) < size ? 16 / sizeof(Factor) : size, pieces = size / width };
  struct alignas(width * sizeof(Factor)) Piece {
    Factor at[width];
  };
  Piece piece[pieces];

  /// Where value `i` of a thread is in the line.
  static int position(int thread, int i) {
    return i / width * (extent / pieces) + thread * width + i % width;
  }
  void load(const Factor* line, int thread) {
#pragma unroll
    for (int p = 0; p < pieces; ++p) {
      piece[p] = *reinterpret_cast<const Piece*>(line + position(thread, p * width));
    }
  }
  Factor operator[](int i) const { return piece[i / width].at[i % width]; }
};

/// Each thread makes `own_rows` x `own_columns` elements of a tile of `rows` x `columns`.
template <typename T, int rows, int columns, int depth, int own_rows, int own_columns,
          bool a_along_k, bool b_along_k>
void run_tiled(const ProductArgs& args) {
  typedef typename Terms<T>::Factor Factor;
  enum { threads = rows / own_rows * (columns / own_columns) };
  typedef SliceLoader<T, rows, depth, threads, a_along_k> LoaderA;
  typedef SliceLoader<T, columns, depth, threads, b_along_k> LoaderB;
  typedef Line<Factor, rows, own_rows> LineA;
  typedef Line<Factor, columns, own_columns> LineB;
  __shared__ __align__(16) Factor slices_a[2][depth * LoaderA::pitch];
  __shared__ __align__(16) Factor slices_b[2][depth * LoaderB::pitch];
  // A warp is 4 x 8 threads: it reads few different values.
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  enum { warp_rows = 4, warp_columns = 8, warps_across = columns / own_columns / warp_columns };
  const int thread_row = warp / warps_across * warp_rows + lane / warp_columns;
  const int thread_column = warp % warps_across * warp_columns + lane % warp_columns;
  const int64 tiles = tiles_of(args, rows, columns);
#pragma unroll 1
  for (int64 index = blockIdx.x; index < tiles; index += gridDim.x) {
    const Place place = place_of(args, index, rows, columns);
    const Share& share = place.share;
    LoaderA a(share.a + place.row * args.steps[kOfA][0] + share.begin * args.steps[kOfA][1],
              args.steps[kOfA][0], args.steps[kOfA][1], args.m - place.row);
    LoaderB b(share.b + place.column * args.steps[kOfB][1] + share.begin * args.steps[kOfB][0],
              args.steps[kOfB][1], args.steps[kOfB][0], args.n - place.column);
    typename Terms<T>::Sum sums[own_rows][own_columns] = {};
    int64 left = share.end - share.begin;
    a.load(left);
    b.load(left);
    a.store(slices_a[0]);
    b.store(slices_b[0]);
    __syncthreads();
    int current = 0;
#pragma unroll 1
    for (; left > 0; left -= depth) {
      if (left > depth) {
        a.load(left - depth);
        b.load(left - depth);
      }
#pragma unroll
      for (int p = 0; p < depth; ++p) {
        LineA x;
        LineB y;
        x.load(slices_a[current] + p * LoaderA::pitch, thread_row);
        y.load(slices_b[current] + p * LoaderB::pitch, thread_column);
#pragma unroll
        for (int i = 0; i < own_rows; ++i) {
#pragma unroll
          for (int j = 0; j < own_columns; ++j) Terms<T>::add(sums[i][j], x[i], y[j]);
        }
      }
      if (left > depth) {
        a.store(slices_a[current ^ 1]);
        b.store(slices_b[current ^ 1]);
      }
      __syncthreads();
      current ^= 1;
    }
#pragma unroll
    for (int i = 0; i < own_rows; ++i) {
#pragma unroll
      for (int j = 0; j < own_columns; ++j) {
        const int64 row = place.row + LineA::position(thread_row, i);
        const int64 column = place.column + LineB::position(thread_column, j);
        if (row < args.m && column < args.n) put<T>(args, share, row, column, sums[i][j]);
      }
    }
  }
}

}  // namespace ofl
