// What products of matrices have in common: their argument, the sums of each dtype, how blocks
// divide the work, and products of a matrix and a vector. Multiply-adds are fused by name.
//
// A sum over k may be cut into parts: each makes sums of its own, in memory of the call, and a
// second kernel adds them in order. So the bits do not depend on who is fast.
#include "ops/cuda/layout/product.h"

namespace ofl {

#ifdef SIM_CUDA_H_
inline float multiply_add(float x, float y, float z) { return x * y + z; }
inline double multiply_add(double x, double y, double z) { return x * y + z; }
#else
inline float multiply_add(float x, float y, float z) { return __fmaf_rn(x, y, z); }
inline double multiply_add(double x, double y, double z) { return __fma_rn(x, y, z); }
#endif

// --- what is summed, by dtype

/// Integers, modulo 2^n.
template <typename T>
struct Terms {
  typedef T Element;
  typedef Wrapping<T> Factor;
  typedef Wrapping<T> Sum;
  static Factor factor(Element x) { return Factor(x); }
  static void add(Sum& sum, Factor x, Factor y) { sum += x * y; }
  static void merge(Sum& sum, Sum other) { sum += other; }
  static Element result(Sum sum) { return T(sum); }
};

/// Any of all.
template <>
struct Terms<bool> {
  typedef uint8 Element;
  typedef uint32 Factor;
  typedef uint32 Sum;
  static Factor factor(Element x) { return x != 0; }
  static void add(Sum& sum, Factor x, Factor y) { sum |= x & y; }
  static void merge(Sum& sum, Sum other) { sum |= other; }
  static Element result(Sum sum) { return sum != 0; }
};

template <typename T, typename Wide>
struct FloatTerms {
  typedef T Element;
  typedef Wide Factor;
  typedef Wide Sum;
  static Factor factor(Element x) { return Wide(x); }
  static void add(Sum& sum, Factor x, Factor y) { sum = multiply_add(x, y, sum); }
  static void merge(Sum& sum, Sum other) { sum += other; }
  static Element result(Sum sum) { return T(sum); }
};
template <>
struct Terms<float16> : FloatTerms<float16, float> {};
template <>
struct Terms<bfloat16> : FloatTerms<bfloat16, float> {};
template <>
struct Terms<float32> : FloatTerms<float, float> {};
template <>
struct Terms<float64> : FloatTerms<double, double> {};

/// Each product of parts is summed for itself: x @ y and y.T @ x.T then have the same bits.
template <typename Part>
struct ComplexSum {
  Part re_re, im_im, re_im, im_re;
};
template <typename Part>
struct Terms<Complex<Part>> {
  typedef Complex<Part> Element;
  typedef Complex<Part> Factor;
  typedef ComplexSum<Part> Sum;
  static Factor factor(Element x) { return x; }
  static void add(Sum& sum, Factor x, Factor y) {
    sum.re_re = multiply_add(x.re, y.re, sum.re_re);
    sum.im_im = multiply_add(x.im, y.im, sum.im_im);
    sum.re_im = multiply_add(x.re, y.im, sum.re_im);
    sum.im_re = multiply_add(x.im, y.re, sum.im_re);
  }
  static void merge(Sum& sum, Sum other) {
    sum.re_re += other.re_re;
    sum.im_im += other.im_im;
    sum.re_im += other.re_im;
    sum.im_re += other.im_re;
  }
  static Element result(Sum sum) { return Element{sum.re_re - sum.im_im, sum.re_im + sum.im_re}; }
};

// --- where things lie

/// One product of the batch, and one part of its sum.
struct Share {
  const char* a;
  const char* b;
  char* out;
  int64 batch, split;
  int64 begin, end;  // of k
};

/// Number `index` of those: parts of one product follow each other.
inline Share share_of(const ProductArgs& args, int64 index) {
  Share share;
  share.batch = args.splits == 1 ? index : index / args.splits;
  share.split = args.splits == 1 ? 0 : index % args.splits;
  share.begin = share.split * args.part;
  share.end = share.begin + args.part < args.k ? share.begin + args.part : args.k;
  int64 offsets[3] = {0, 0, 0};
  int64 rest = share.batch;
#pragma unroll 1
  for (int d = args.ndim - 1; d >= 0; --d) {
    const int64 outer = d ? rest / args.dims[d] : 0;
    const int64 place = rest - outer * args.dims[d];
#pragma unroll
    for (int operand = 0; operand < 3; ++operand) {
      offsets[operand] += place * args.strides[d][operand];
    }
    rest = outer;
  }
  share.a = static_cast<const char*>(args.data[kOfA]) + offsets[kOfA];
  share.b = static_cast<const char*>(args.data[kOfB]) + offsets[kOfB];
  share.out = static_cast<char*>(args.data[kOfOut]) + offsets[kOfOut];
  return share;
}

/// Where a part's sum of element (i, j) is kept.
template <typename Sum>
Sum& partial_at(const ProductArgs& args, int64 split, int64 batch, int64 i, int64 j) {
  return static_cast<Sum*>(args.partial)[((split * args.batch + batch) * args.m + i) * args.n + j];
}

template <typename T>
void put(const ProductArgs& args, const Share& share, int64 i, int64 j,
         typename Terms<T>::Sum sum) {
  typedef typename Terms<T>::Element Element;
  if (args.splits > 1) {
    partial_at<typename Terms<T>::Sum>(args, share.split, share.batch, i, j) = sum;
  } else {
    char* const target = share.out + i * args.steps[kOfOut][0] + j * args.steps[kOfOut][1];
    *reinterpret_cast<Element*>(target) = Terms<T>::result(sum);
  }
}

/// The second kernel of a product whose sums were cut.
template <typename T>
void run_merge(const ProductArgs& args) {
  typedef typename Terms<T>::Element Element;
  typedef typename Terms<T>::Sum Sum;
  const int64 count = args.batch * args.m * args.n;
  const int64 step = int64(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (int64 index = int64(blockIdx.x) * blockDim.x + threadIdx.x; index < count; index += step) {
    const int64 row = index / args.n, j = index - row * args.n;
    const int64 batch = row / args.m, i = row - batch * args.m;
    Sum sum = partial_at<Sum>(args, 0, batch, i, j);
#pragma unroll 1
    for (int64 split = 1; split < args.splits; ++split) {
      Terms<T>::merge(sum, partial_at<Sum>(args, split, batch, i, j));
    }
    const Share share = share_of(args, batch * args.splits);
    char* const target = share.out + i * args.steps[kOfOut][0] + j * args.steps[kOfOut][1];
    *reinterpret_cast<Element*>(target) = Terms<T>::result(sum);
  }
}

// --- a matrix and a vector: n is 1

/// The sum of a warp's lanes, in lane 0; always in the same order.
template <typename T>
typename Terms<T>::Sum sum_of_warp(typename Terms<T>::Sum sum) {
  typedef typename Terms<T>::Sum Sum;
  enum { words = sizeof(Sum) / sizeof(uint32) };
#pragma unroll
  for (int delta = kWarp / 2; delta > 0; delta /= 2) {
    Sum other;
#pragma unroll
    for (int w = 0; w < words; ++w) {
      reinterpret_cast<uint32*>(&other)[w] =
          __shfl_down_sync(0xffffffffu, reinterpret_cast<const uint32*>(&sum)[w], delta);
    }
    Terms<T>::merge(sum, other);
  }
  return sum;
}

/// 16 bytes of elements.
template <typename Element>
struct alignas(16) Chunk {
  enum { size = 16 / sizeof(Element) };
  Element at[size];
};

/// This lane's terms of the sum of a row.
template <typename T>
typename Terms<T>::Sum sum_of_lane(const char* a, int64 a_step, const char* b, int64 b_step,
                                   int64 count, bool vectors) {
  typedef typename Terms<T>::Element Element;
  typedef typename Terms<T>::Sum Sum;
  typedef Chunk<Element> Elements;
  enum { sums_at_a_time = 4 };
  const int64 lane = threadIdx.x % kWarp;
  Sum sums[sums_at_a_time] = {};
  int64 done = 0;
  if (vectors) {
    const int64 chunks = count / Elements::size;
#pragma unroll 4
    for (int64 c = lane; c < chunks; c += kWarp) {
      const Elements x = reinterpret_cast<const Elements*>(a)[c];
      const Elements y = reinterpret_cast<const Elements*>(b)[c];
#pragma unroll
      for (int j = 0; j < Elements::size; ++j) {
        Terms<T>::add(sums[j % sums_at_a_time], Terms<T>::factor(x.at[j]),
                      Terms<T>::factor(y.at[j]));
      }
    }
    done = chunks * Elements::size;
  }
#pragma unroll 4
  for (int64 p = done + lane; p < count; p += kWarp) {
    Terms<T>::add(sums[0], Terms<T>::factor(*reinterpret_cast<const Element*>(a + p * a_step)),
                  Terms<T>::factor(*reinterpret_cast<const Element*>(b + p * b_step)));
  }
#pragma unroll
  for (int j = 1; j < sums_at_a_time; ++j) Terms<T>::merge(sums[0], sums[j]);
  return sums[0];
}

/// A warp for each row: its lanes step along the row.
template <typename T>
void run_rows(const ProductArgs& args) {
  const int64 items = args.m * args.batch * args.splits;
  const int64 warps = int64(gridDim.x) * (blockDim.x / kWarp);
  const int64 a_step = args.steps[kOfA][1], b_step = args.steps[kOfB][0];
#pragma unroll 1
  for (int64 item = (int64(blockIdx.x) * blockDim.x + threadIdx.x) / kWarp; item < items;
       item += warps) {
    const int64 index = item / args.m, i = item - index * args.m;
    const Share share = share_of(args, index);
    const char* const a = share.a + i * args.steps[kOfA][0] + share.begin * a_step;
    const auto sum = sum_of_warp<T>(sum_of_lane<T>(a, a_step, share.b + share.begin * b_step,
                                                   b_step, share.end - share.begin,
                                                   args.vectors[kOfA] && args.vectors[kOfB]));
    if (threadIdx.x % kWarp == 0) put<T>(args, share, i, 0, sum);
  }
}

/// A thread for each row, as rows are what lies side by side; `slices` of them share its sum.
template <typename T, int slices>
void run_columns(const ProductArgs& args) {
  typedef typename Terms<T>::Element Element;
  typedef typename Terms<T>::Sum Sum;
  __shared__ Sum sums[slices][kWarp];
  const int slice = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const int64 a_step = args.steps[kOfA][1], b_step = args.steps[kOfB][0];
  const int64 strips = (args.m + kWarp - 1) / kWarp;
  const int64 items = strips * args.batch * args.splits;
#pragma unroll 1
  for (int64 item = blockIdx.x; item < items; item += gridDim.x) {
    const int64 index = item / strips, i = (item - index * strips) * kWarp + lane;
    const Share share = share_of(args, index);
    Sum sum = {};
    if (i < args.m) {
      const char* const a = share.a + i * args.steps[kOfA][0];
#pragma unroll 4
      for (int64 p = share.begin + slice; p < share.end; p += slices) {
        Terms<T>::add(sum, Terms<T>::factor(*reinterpret_cast<const Element*>(a + p * a_step)),
                      Terms<T>::factor(*reinterpret_cast<const Element*>(share.b + p * b_step)));
      }
    }
    sums[slice][lane] = sum;
    __syncthreads();
    if (slice == 0 && i < args.m) {
#pragma unroll
      for (int other = 1; other < slices; ++other) Terms<T>::merge(sum, sums[other][lane]);
      put<T>(args, share, i, 0, sum);
    }
    __syncthreads();
  }
}

// --- tiles of the result

/// A tile of the result, and whose.
struct Place {
  Share share;
  int64 row, column;
};

/// Tiles one after the other go down `group` rows of tiles before they go right: blocks that run at
/// a time then read few rows and few columns.
inline Place place_of(const ProductArgs& args, int64 index, int tile_rows, int tile_columns) {
  enum { group = 8 };
  const int64 rows = (args.m + tile_rows - 1) / tile_rows;
  const int64 columns = (args.n + tile_columns - 1) / tile_columns;
  const int64 whole = index / (rows * columns), tile = index - whole * (rows * columns);
  const int64 band = tile / (group * columns), in_band = tile - band * (group * columns);
  const int64 first = band * group;
  const int64 height = rows - first < group ? rows - first : group;
  const int64 column = in_band / height;
  return {share_of(args, whole), (first + in_band - column * height) * tile_rows,
          column * tile_columns};
}

inline int64 tiles_of(const ProductArgs& args, int tile_rows, int tile_columns) {
  return (args.m + tile_rows - 1) / tile_rows * ((args.n + tile_columns - 1) / tile_columns) *
         args.batch * args.splits;
}

inline int least(int64 x, int y) { return x < y ? int(x) : y; }

}  // namespace ofl
