// After K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication" (2008),
// and F. Van Zee and R. van de Geijn, "BLIS: a framework for rapidly instantiating BLAS
// functionality" (2015).
//
//   b ─► panels of 2 vectors of columns, packed once, by all threads ─┐
//   a ─► blocks of slivers of 14 rows, packed by who multiplies them ─┴► tiles of out, in registers
#include "ops/product/gemm_panels.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/vectors.h"
#include "ops/leased_memory.h"
#include "ops/pieces.h"

#ifdef OFL_X86_VECTORS
#include <immintrin.h>

namespace ofl::ops {

namespace {

/// Rows of a tile: 28 sums, 2 vectors of b and one of a take 31 of the 32 registers.
constexpr int kRows = 14, kVectors512 = 2;
/// Slivers in a block of a, which stays in the L2 cache beside a panel.
constexpr int64_t kMostSlivers = 5;
/// Most rows of a panel: with a block of a it stays in the L2 cache while tiles are made of them.
constexpr int64_t kMostDepth = 512;
/// Bytes of packed panels; more columns are the next round.
constexpr int64_t kPanelBytes = int64_t{16} << 20;
/// Rows of b that are packed in one piece.
constexpr int64_t kPackedRows = 64;
/// Thinner products are not worth the packing: of b for few rows, of a for few columns, of anything
/// for a short sum; more so where it lies by columns.
constexpr int64_t kLeastRows = 256, kLeastColumns = 128, kLeastDepth = 128;
constexpr int64_t kLeastRowsIfTurned = 1024, kLeastColumnsIfTurned = 256;
/// Rows of a panel that are filled column by column while they stay in the L1 cache.
constexpr int64_t kFilledRows = 16;

MemoryPool& panel_memory() {
  static MemoryPool* pool = new MemoryPool;
  return *pool;
}

MemoryPool& block_memory() {
  static MemoryPool* pool = new MemoryPool;
  return *pool;
}

template <typename T>
struct Lanes512;

template <>
struct Lanes512<float> {
  using Type = __m512;
  using Mask = __mmask16;
  static OFL_AVX512 Type zero() { return _mm512_setzero_ps(); }
  static OFL_AVX512 Type load(const float* from) { return _mm512_load_ps(from); }
  static OFL_AVX512 Type spread(float value) { return _mm512_set1_ps(value); }
  static OFL_AVX512 Type multiply_add(Type a, Type b, Type c) { return _mm512_fmadd_ps(a, b, c); }
  static OFL_AVX512 void put(float* to, Mask mask, Type value, bool adds) {
    if (adds) value = _mm512_add_ps(value, _mm512_maskz_loadu_ps(mask, to));
    _mm512_mask_storeu_ps(to, mask, value);
  }
};

template <>
struct Lanes512<double> {
  using Type = __m512d;
  using Mask = __mmask8;
  static OFL_AVX512 Type zero() { return _mm512_setzero_pd(); }
  static OFL_AVX512 Type load(const double* from) { return _mm512_load_pd(from); }
  static OFL_AVX512 Type spread(double value) { return _mm512_set1_pd(value); }
  static OFL_AVX512 Type multiply_add(Type a, Type b, Type c) { return _mm512_fmadd_pd(a, b, c); }
  static OFL_AVX512 void put(double* to, Mask mask, Type value, bool adds) {
    if (adds) value = _mm512_add_pd(value, _mm512_maskz_loadu_pd(mask, to));
    _mm512_mask_storeu_pd(to, mask, value);
  }
};

template <typename T>
constexpr int64_t kLanes = 64 / static_cast<int64_t>(sizeof(T));
/// Columns of a panel.
template <typename T>
constexpr int64_t kWidth = kVectors512 * kLanes<T>;

/// Where a tile of out lies, and how much of it there is.
template <typename T>
struct Target {
  T* data;
  int64_t step;     // elements from one row to the next
  int64_t columns;  // up to kWidth
  bool adds;        // to what is there
};

/// out's tile = sliver @ panel, over `depth`. Memory that comes next is asked for meanwhile:
/// `ahead` is walked by `ahead_step` bytes for each step of the depth.
template <typename T, int Rows>
OFL_AVX512 void multiply_tile(int64_t depth, const T* sliver, const T* panel,
                              const Target<T>& target, const char* ahead, int64_t ahead_step) {
  using V = Lanes512<T>;
  typename V::Type sums[Rows][kVectors512];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    sums[r][0] = V::zero();
    sums[r][1] = V::zero();
    const T* row = target.data + r * target.step;
    __builtin_prefetch(row, 1);
    __builtin_prefetch(row + target.columns - 1, 1);
  }
  for (int64_t i = 0; i < depth; ++i) {
    const typename V::Type left = V::load(panel), right = V::load(panel + kLanes<T>);
    __builtin_prefetch(ahead, 0, 2);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const typename V::Type value = V::spread(sliver[r]);
      sums[r][0] = V::multiply_add(value, left, sums[r][0]);
      sums[r][1] = V::multiply_add(value, right, sums[r][1]);
    }
    panel += kWidth<T>;
    sliver += Rows;
    ahead += ahead_step;
  }
  const uint32_t lanes = (uint64_t{1} << target.columns) - 1;
  const auto first = static_cast<typename V::Mask>(lanes);
  const auto second = static_cast<typename V::Mask>(lanes >> kLanes<T>);
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    T* row = target.data + r * target.step;
    V::put(row, first, sums[r][0], target.adds);
    V::put(row + kLanes<T>, second, sums[r][1], target.adds);
  }
}

template <typename T>
using Tile = void (*)(int64_t depth, const T* sliver, const T* panel, const Target<T>& target,
                      const char* ahead, int64_t ahead_step);

/// By number of rows, from 1.
template <typename T, int... Rows>
constexpr std::array<Tile<T>, kRows> tiles(std::integer_sequence<int, Rows...>) {
  return {multiply_tile<T, Rows + 1>...};
}
template <typename T>
constexpr std::array<Tile<T>, kRows> kTiles = tiles<T>(std::make_integer_sequence<int, kRows>());

/// One product, or some of its columns: those whose panels fit.
template <typename T>
class PanelProduct {
 public:
  PanelProduct(const Product& p, ep::HelperPool* helpers) : p_(p), helpers_(helpers) {
    const int64_t parts = (p.k() + kMostDepth - 1) / kMostDepth;
    depth_ = (p.k() + parts - 1) / parts;
    panels_ = (p.n() + kWidth<T> - 1) / kWidth<T>;
    slivers_ = (p.m() + kRows - 1) / kRows;
  }

  void run() {
    const LeasedMemory packed(panel_memory(), p_.k() * panels_ * kWidth<T> * sizeof(T));
    packed_ = reinterpret_cast<T*>(packed.data());
    const double elements = static_cast<double>(p_.k()) * static_cast<double>(p_.n());
    share(helpers_, (p_.k() + kPackedRows - 1) / kPackedRows, elements, [&](int64_t i) {
      const int64_t first = i * kPackedRows;
      pack_b(first, std::min(first + kPackedRows, p_.k()));
    });
    divide();
    share(helpers_, blocks_ * groups_, product_work(p_.m(), p_.k(), p_.n(), p_.out.dtype),
          [&](int64_t i) { multiply_block(i / groups_, i % groups_); });
  }

 private:
  /// Into blocks of rows, as many as the threads can share evenly; and groups of panels, where
  /// there are few rows.
  void divide() {
    const int64_t threads = helpers_ ? helpers_->threads() : 1;
    blocks_ = (slivers_ + kMostSlivers - 1) / kMostSlivers;
    if (blocks_ >= threads) blocks_ = (blocks_ + threads - 1) / threads * threads;
    groups_ = blocks_ < threads ? std::min(panels_, (2 * threads + blocks_ - 1) / blocks_) : 1;
  }

  /// Panels, one after the other, of each part of the depth, one after the other.
  T* panel(int64_t first, int64_t count, int64_t number) const {
    return packed_ + (first * panels_ + number * count) * kWidth<T>;
  }

  /// Rows [row, end) of b, into the panels, in the order in which they lie.
  void pack_b(int64_t row, int64_t end) const {
    const bool by_rows = std::abs(p_.b.row_step) >= std::abs(p_.b.column_step);
    for (int64_t first = row / depth_ * depth_; first < end; first += depth_) {
      const int64_t count = std::min(depth_, p_.k() - first);
      const int64_t from = std::max(row, first), to = std::min(end, first + count);
      for (int64_t i = from; by_rows && i < to; ++i) {
        for (int64_t number = 0; number < panels_; ++number) {
          pack_panel(i, 1, number, panel(first, count, number) + (i - first) * kWidth<T>);
        }
      }
      for (int64_t number = 0; !by_rows && number < panels_; ++number) {
        pack_panel(from, to - from, number,
                   panel(first, count, number) + (from - first) * kWidth<T>);
      }
    }
  }

  /// Rows [row, row + rows) of one panel; columns beyond those of b are zeros.
  void pack_panel(int64_t row, int64_t rows, int64_t number, T* to) const {
    const int64_t columns = std::min(kWidth<T>, p_.b.columns - number * kWidth<T>);
    const Matrix b = p_.b.block(row, rows, number * kWidth<T>, columns);
    if (rows == 1 && b.column_step == sizeof(T) && columns == kWidth<T>) {
      std::copy_n(reinterpret_cast<const T*>(b.data), kWidth<T>, to);
      return;
    }
    for (int64_t first = 0; first < rows; first += kFilledRows) {
      const int64_t end = std::min(first + kFilledRows, rows);
      for (int64_t j = 0; j < columns; ++j) {
        const char* from = b.data + first * b.row_step + j * b.column_step;
        for (int64_t i = first; i < end; ++i, from += b.row_step) {
          to[i * kWidth<T> + j] = *reinterpret_cast<const T*>(from);
        }
      }
    }
    for (int64_t i = 0; columns < kWidth<T> && i < rows; ++i) {
      std::fill(to + i * kWidth<T> + columns, to + (i + 1) * kWidth<T>, T(0));
    }
  }

  void multiply_block(int64_t block, int64_t group) const {
    const int64_t begin = block * slivers_ / blocks_, end = (block + 1) * slivers_ / blocks_;
    const int64_t left = group * panels_ / groups_, right = (group + 1) * panels_ / groups_;
    const int64_t row = begin * kRows, rows = std::min(end * kRows, p_.m()) - row;
    if (rows <= 0 || left == right) return;
    const LeasedMemory memory(block_memory(), (rows + kRows) * depth_ * sizeof(T));
    T* const slivers = reinterpret_cast<T*>(memory.data());
    for (int64_t first = 0; first < p_.k(); first += depth_) {
      const int64_t count = std::min(depth_, p_.k() - first);
      pack_a(p_.a.block(row, rows, first, count), slivers);
      for (int64_t number = left; number < right; ++number) {
        multiply_panel(row, rows, number, first, count, slivers);
      }
    }
  }

  static void pack_a(const Matrix& a, T* to) {
    for (int64_t row = 0; row < a.rows; row += kRows) {
      const int64_t rows = std::min<int64_t>(kRows, a.rows - row);
      const char* from = a.data + row * a.row_step;
      const bool beside = rows == kRows && a.row_step == sizeof(T);
      for (int64_t i = 0; i < a.columns; ++i, from += a.column_step) {
        if (beside) {
          to = std::copy_n(reinterpret_cast<const T*>(from), kRows, to);
          continue;
        }
        for (int64_t r = 0; r < rows; ++r) {
          *to++ = *reinterpret_cast<const T*>(from + r * a.row_step);
        }
      }
    }
  }

  /// The tiles of one block and one panel; the next panel is asked for.
  void multiply_panel(int64_t row, int64_t rows, int64_t number, int64_t first, int64_t count,
                      const T* slivers) const {
    const Matrix& out = p_.out;
    const T* const from = panel(first, count, number);
    const int64_t panel_bytes = count * kWidth<T> * sizeof(T);
    const int64_t in_block = (rows + kRows - 1) / kRows;
    const char* ahead = reinterpret_cast<const char*>(from) + panel_bytes;
    const int64_t ahead_step = kWidth<T> * sizeof(T) / in_block;
    Target<T> target{nullptr, out.row_step / int64_t(sizeof(T)),
                     std::min(kWidth<T>, out.columns - number * kWidth<T>), p_.adds || first > 0};
    for (int64_t r = 0; r < rows; r += kRows, ahead += panel_bytes / in_block) {
      target.data = reinterpret_cast<T*>(out.data + (row + r) * out.row_step) + number * kWidth<T>;
      const int64_t tile_rows = std::min<int64_t>(kRows, rows - r);
      kTiles<T>[tile_rows - 1](count, slivers + r * count, from, target, ahead, ahead_step);
    }
  }

  const Product p_;
  ep::HelperPool* const helpers_;
  T* packed_ = nullptr;
  int64_t depth_, panels_, slivers_;
  int64_t blocks_ = 1, groups_ = 1;
};

}  // namespace

bool has_panel_loops() {
  static const bool has = choose_by_isa("gemm_panels", false, false, true);
  return has;
}

template <typename T>
bool panel_product(const Product& p, ep::HelperPool* helpers) {
  constexpr int64_t kItem = sizeof(T);
  const Matrix& out = p.out;
  if (out.column_step != kItem) {
    return out.row_step == kItem && panel_product<T>(p.transposed(), helpers);
  }
  const auto is_turned = [](const Matrix& x) {
    return std::abs(x.row_step) < std::abs(x.column_step);
  };
  const auto has_items = [](const Matrix& x) { return size_of(x.dtype) == sizeof(T); };
  if (!has_items(p.a) || !has_items(p.b) || !has_items(out) || out.row_step % kItem != 0 ||
      p.m() < (is_turned(p.b) ? kLeastRowsIfTurned : kLeastRows) ||
      p.n() < (is_turned(p.a) ? kLeastColumnsIfTurned : kLeastColumns) || p.k() < kLeastDepth) {
    return false;
  }
  const int64_t most = std::max(kPanelBytes / (p.k() * kItem) / kWidth<T>, int64_t{1}) * kWidth<T>;
  for (int64_t column = 0; column < p.n(); column += most) {
    const int64_t columns = std::min(most, p.n() - column);
    PanelProduct<T>(p.block(0, p.m(), column, columns), helpers).run();
  }
  return true;
}

}  // namespace ofl::ops

#else

namespace ofl::ops {

bool has_panel_loops() { return false; }

template <typename T>
bool panel_product(const Product&, ep::HelperPool*) {
  return false;
}

}  // namespace ofl::ops

#endif

template bool ofl::ops::panel_product<float>(const Product& p, ep::HelperPool* helpers);
template bool ofl::ops::panel_product<double>(const Product& p, ep::HelperPool* helpers);
