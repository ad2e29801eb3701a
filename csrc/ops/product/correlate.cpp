// The correlation of a sequence with a window, by NumPy's way and with its bits: at the edges, and
// for wide windows, each output is a dot product; over narrow ones neighbouring outputs are summed
// side by side.
#include <algorithm>
#include <type_traits>

#include "base/vectors.h"
#include "ops/array_args.h"
#include "ops/pieces.h"

namespace ofl::ops {

namespace {

/// NumPy adds the products of float32 and float64 in order up to this width of the window.
constexpr int64_t kNarrow = 11;
/// From here on NumPy's dot products may use threads of their own.
constexpr int64_t kThreaded = 10'000;

/// Of one product and its addition, whose operands are in the first cache, in float32 additions.
constexpr double kProductWork = 0.25;

/// NumPy's dot function of a dtype, which takes no array and needs no GIL.
using DotFn = void (*)(void* a, intptr_t a_step, void* b, intptr_t b_step, void* out,
                       intptr_t length, void* array);

/// out[i] = 0 + x[i] * window[0] + x[i + 1] * window[1] + ..., added in this order, for i < count:
/// no sum is -0.0.
using SumFn = void (*)(const char* x, const char* window, int64_t width, char* out, int64_t count);

/// Integers wrap around.
template <typename T>
T multiply_add(T sum, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return sum + a * b;
  } else {
    using Wide = std::common_type_t<T, unsigned>;
    return static_cast<T>(Wide{sum} + Wide{a} * Wide{b});
  }
}

/// As many tiles of outputs as there are; a tile's sums stay in registers.
template <typename T, int tile>
int64_t sum_tiles(const T* x, const T* window, int64_t width, T* out, int64_t i, int64_t count) {
  for (; i + tile <= count; i += tile) {
    T sums[tile];
    std::fill(sums, sums + tile, T{});
    for (int64_t k = 0; k < width; ++k) {
      for (int j = 0; j < tile; ++j) sums[j] = multiply_add(sums[j], x[i + k + j], window[k]);
    }
    std::copy(sums, sums + tile, out + i);
  }
  return i;
}

template <typename T, int bytes>
void sum_by(const char* x, const char* window, int64_t width, char* out, int64_t count) {
  const auto from = reinterpret_cast<const T*>(x), factors = reinterpret_cast<const T*>(window);
  const auto to = reinterpret_cast<T*>(out);
  int64_t done = sum_tiles<T, bytes / sizeof(T)>(from, factors, width, to, 0, count);
  done = sum_tiles<T, 32 / sizeof(T)>(from, factors, width, to, done, count);
  sum_tiles<T, 1>(from, factors, width, to, done, count);
}

// The same code for the vectors of each CPU: all that it calls is inlined into it.
template <typename T>
OFL_AVX512 OFL_FLAT void sum_512(const char* x, const char* window, int64_t width, char* out,
                                 int64_t count) {
  sum_by<T, 512>(x, window, width, out, count);
}
template <typename T>
OFL_AVX2 OFL_FLAT void sum_256(const char* x, const char* window, int64_t width, char* out,
                               int64_t count) {
  sum_by<T, 256>(x, window, width, out, count);
}

template <typename T>
SumFn choose() {
  static const SumFn chosen =
      choose_by_isa<SumFn>("correlate", sum_by<T, 128>, sum_256<T>, sum_512<T>);
  return chosen;
}

/// Of integers, whose sums have the same bits in every order, and of narrow windows of floats; null
/// for dot products.
SumFn find_sum(DType dtype, int64_t width) {
  switch (dtype) {
    case DType::i8:
    case DType::u8: return choose<uint8_t>();
    case DType::i16:
    case DType::u16: return choose<uint16_t>();
    case DType::i32:
    case DType::u32: return choose<uint32_t>();
    case DType::i64:
    case DType::u64: return choose<uint64_t>();
    case DType::f32: return width <= kNarrow ? choose<float>() : nullptr;
    case DType::f64: return width <= kNarrow ? choose<double>() : nullptr;
    default: return nullptr;
  }
}

/// The elements one after the other, where they are or in `copy`.
const char* packed(const ArrayView& view, std::vector<char>* copy) {
  const auto size = static_cast<int64_t>(size_of(view.dtype));
  if (view.strides[0] == size || view.shape[0] == 1) return view.data;
  copy->resize(view.shape[0] * size);
  for (int64_t i = 0; i < view.shape[0]; ++i) {
    std::copy_n(view.data + i * view.strides[0], size, copy->data() + i * size);
  }
  return copy->data();
}

/// Calls run(start, end) for pieces of the outputs [first, last).
template <typename Run>
void in_pieces(ep::HelperPool* helpers, int64_t first, int64_t last, int64_t width,
               const Run& run) {
  const int64_t count = last - first;
  const double work = kProductWork * static_cast<double>(count) * static_cast<double>(width);
  if (count <= 0) return;
  if (!is_divisible(helpers, work)) return run(first, last);
  const int64_t steps = steps_in_piece(count, work, 64);
  helpers->parallel_for((count + steps - 1) / steps, [&](int64_t i) {
    run(first + i * steps, std::min(first + (i + 1) * steps, last));
  });
}

}  // namespace

void correlate_kernel(const ArrayArgs& args) {
  const ArrayView &x = args.input(0), &window = args.input(1), &out = args.output(0);
  const auto size = static_cast<int64_t>(size_of(out.dtype));
  const int64_t n = x.shape[0], width = window.shape[0], count = out.shape[0];
  const int64_t before = args.attr[0];
  std::vector<char> copies[2];
  const char *values = packed(x, &copies[0]), *factors = packed(window, &copies[1]);
  // The step of a single element chooses NumPy's loop: it goes to BLAS where the step is forwards.
  const int64_t x_step = n == 1 ? x.strides[0] : size;
  const int64_t step = width == 1 ? window.strides[0] : size;
  const auto multiply = reinterpret_cast<DotFn>(args.loop.data);
  const auto dot = [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      const int64_t low = std::max<int64_t>(0, before - i), high = std::min(width, n + before - i);
      multiply(const_cast<char*>(values + (i - before + low) * size), x_step,
               const_cast<char*>(factors + low * size), step, out.data + i * size, high - low,
               nullptr);
    }
  };
  const auto dot_whole = [=, to = out.data](int64_t i, int64_t end) {
    char* const all_factors = const_cast<char*>(factors);
    char *from = const_cast<char*>(values + (i - before) * size), *sum = to + i * size;
    for (; i < end; ++i, from += size, sum += size) {
      multiply(from, x_step, all_factors, step, sum, width, nullptr);
    }
  };
  // Of the outputs in between, the whole window is over elements.
  const int64_t first = std::min(before, count);
  const int64_t last = std::clamp(n - width + 1 + before, first, count);
  dot(0, first);
  if (const SumFn sum = find_sum(out.dtype, width)) {
    in_pieces(args.helpers, first, last, width, [&](int64_t start, int64_t end) {
      sum(values + (start - before) * size, factors, width, out.data + start * size, end - start);
    });
  } else if (width < kThreaded) {
    in_pieces(args.helpers, first, last, width, dot_whole);
  } else {
    dot_whole(first, last);
  }
  dot(last, count);
}

}  // namespace ofl::ops
