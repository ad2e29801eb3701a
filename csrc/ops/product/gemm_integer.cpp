// Products of integers and of bool. Sums modulo 2^n are the same in any order, so blocks of the
// operands are packed for the cache and the vectors of the CPU at hand.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/vectors.h"
#include "ops/pieces.h"
#include "ops/product/gemm.h"
#include "ops/product/gemm_plan.h"

namespace ofl::ops {

namespace {

/// A block of the result that stays in registers: kRows x kVectors vectors, of `kBytes` each. The
/// compiler keeps vectors that are wider than the CPU's in memory.
constexpr int64_t kRows = 4, kVectors = 2;
/// Of the inner dimension, packed at a time, and of rows: both blocks stay in the L2 cache.
constexpr int64_t kDepth = 256, kBlockRows = 64;

/// How elements of type T are computed: in words of type `Word`.
template <typename T>
struct Modular {
  using Word =
      std::conditional_t<sizeof(T) == 1, uint16_t, T>;  // CPUs multiply no vectors of bytes
  static Word word(T value) { return static_cast<Word>(value); }
  static T element(Word sum) { return static_cast<T>(sum); }
  template <typename V>
  static void accumulate(V& sum, Word a, const V& b) {
    if constexpr (std::is_same_v<V, Word>) {
      sum = static_cast<Word>(sum + uint64_t{a} * b);
    } else {
      sum += a * b;
    }
  }
  static T add(T a, T b) { return static_cast<T>(a + b); }
};

/// Any of all; a word has all bits or none.
template <>
struct Modular<bool> {
  using Word = uint8_t;
  static Word word(bool value) { return value ? 0xff : 0; }
  static bool element(Word sum) { return sum != 0; }
  template <typename V>
  static void accumulate(V& sum, Word a, const V& b) {
    sum |= a & b;
  }
  static bool add(bool a, bool b) { return a || b; }
};

template <typename T>
T load(const char* from) {
  if constexpr (std::is_same_v<T, bool>) {
    return *from != 0;
  } else {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
  }
}

template <typename Word, int kBytes>
constexpr int64_t kColumns = kVectors * kBytes / int64_t(sizeof(Word));

/// sums (kRows x kColumns) = a (depth x kRows) . b (depth x kColumns), both packed.
template <typename T, int kBytes, typename Word>
inline __attribute__((always_inline)) void multiply_block(const Word* a, const Word* b,
                                                          int64_t depth, Word* sums) {
  typedef Word V __attribute__((vector_size(kBytes)));
  V acc[kRows][kVectors] = {};
  for (int64_t k = 0; k < depth; ++k) {
    V row[kVectors];
    for (int v = 0; v < kVectors; ++v) {  // one by one: a larger copy goes through the stack
      std::memcpy(&row[v], b + (k * kVectors + v) * int64_t(kBytes / sizeof(Word)), kBytes);
    }
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v)
        Modular<T>::accumulate(acc[r][v], a[k * kRows + r], row[v]);
    }
  }
  std::memcpy(sums, acc, sizeof(acc));
}

/// Words of a matrix in stripes of `width` rows, each stripe column after column; rows that are
/// missing in the last one are 0.
template <typename T, typename Word>
void pack(const Matrix& x, int64_t width, Word* out) {
  for (int64_t first = 0; first < x.rows; first += width) {
    const int64_t rows = std::min(width, x.rows - first);
    if (rows < width) std::memset(static_cast<void*>(out), 0, sizeof(Word) * width * x.columns);
    for (int64_t j = 0; j < x.columns; ++j) {
      const char* from = x.data + first * x.row_step + j * x.column_step;
      for (int64_t i = 0; i < rows; ++i) {
        out[j * width + i] = Modular<T>::word(load<T>(from + i * x.row_step));
      }
    }
    out += width * x.columns;
  }
}

template <typename T, int kBytes, typename Word>
void store(const Word* sums, const Matrix& out, bool first) {
  for (int64_t i = 0; i < out.rows; ++i) {
    for (int64_t j = 0; j < out.columns; ++j) {
      char* place = out.data + i * out.row_step + j * out.column_step;
      T value = Modular<T>::element(sums[i * kColumns<Word, kBytes> + j]);
      if (!first) value = Modular<T>::add(load<T>(place), value);
      std::memcpy(place, static_cast<const void*>(&value), sizeof(T));
    }
  }
}

/// The words of one thread.
template <typename Word, int kBytes>
struct Blocks {
  static constexpr int64_t kWidth = kColumns<Word, kBytes>;
  explicit Blocks(const Product& p)
      : a(kDepth * kBlockRows), b(kDepth * ((p.n() - 1) / kWidth + 1)) {}
  struct alignas(kBytes) Line {
    Word words[kWidth];
  };
  std::vector<Word> a;
  std::vector<Line> b;
};

template <typename T, int kBytes>
void multiply(const Product& p) {
  using Word = typename Modular<T>::Word;
  constexpr int64_t kWidth = kColumns<Word, kBytes>;
  Blocks<Word, kBytes> packed(p);
  Word* const b = packed.b.data()->words;
  typename Blocks<Word, kBytes>::Line sums[kRows];
  for (int64_t k = 0; k < p.k(); k += kDepth) {
    const int64_t depth = std::min(kDepth, p.k() - k);
    pack<T>(p.b.block(k, depth, 0, p.n()).transposed(), kWidth, b);
    for (int64_t i = 0; i < p.m(); i += kBlockRows) {
      const int64_t rows = std::min(kBlockRows, p.m() - i);
      pack<T>(p.a.block(i, rows, k, depth), kRows, packed.a.data());
      for (int64_t j = 0; j < p.n(); j += kWidth) {
        const int64_t columns = std::min(kWidth, p.n() - j);
        for (int64_t r = 0; r < rows; r += kRows) {
          const Matrix out = p.out.block(i + r, std::min(kRows, rows - r), j, columns);
          multiply_block<T, kBytes>(packed.a.data() + r * depth, b + j * depth, depth, sums->words);
          store<T, kBytes>(sums->words, out, k == 0);
        }
      }
    }
  }
}

/// Products of bool are looked at after so many: the rest does not change what is true. Often some
/// of the first ones say it.
constexpr int64_t kLookedFirst = 32, kLooked = 1024;

template <typename T, typename Word>
Word dot(const char* a, int64_t a_step, const char* b, int64_t b_step, int64_t n) {
  const auto sum = [&](int64_t a_by, int64_t b_by) {
    constexpr bool may_end = std::is_same_v<T, bool>;
    Word total{};
    const auto add = [&](int64_t start, int64_t count) {
      for (int64_t i = start; i < start + count; ++i) {
        const Word x = Modular<T>::word(load<T>(a + i * a_by));
        Modular<T>::accumulate(total, x, Modular<T>::word(load<T>(b + i * b_by)));
      }
    };
    int64_t start = 0;
    if constexpr (may_end) {
      if (n >= kLookedFirst) add(0, start = kLookedFirst);
    }
    for (; start < n && !(may_end && total); start += kLooked) {
      add(start, std::min(kLooked, n - start));
    }
    return total;
  };
  constexpr int64_t kItem = sizeof(T);
  return a_step == kItem && b_step == kItem ? sum(kItem, kItem) : sum(a_step, b_step);
}

/// Without packing: matrices of a few elements, and vectors on the right.
template <typename T>
void multiply_dots(const Product& p) {
  using Word = typename Modular<T>::Word;
  for (int64_t i = 0; i < p.m(); ++i) {
    for (int64_t j = 0; j < p.n(); ++j) {
      const char* a = p.a.data + i * p.a.row_step;
      const char* b = p.b.data + j * p.b.column_step;
      const T value = Modular<T>::element(dot<T, Word>(a, p.a.column_step, b, p.b.row_step, p.k()));
      char* place = p.out.data + i * p.out.row_step + j * p.out.column_step;
      std::memcpy(place, static_cast<const void*>(&value), sizeof(T));
    }
  }
}

/// Rows of bool that are added before it is looked at whether all sums are true.
constexpr int64_t kRowsAdded = 8;

/// All bits of all words.
template <typename Word>
bool are_all_set(const std::vector<Word>& words) {
  Word all = static_cast<Word>(-1);
  for (const Word word : words) all &= word;
  return all == static_cast<Word>(-1);
}

/// A row times a matrix of contiguous rows: the sum of its rows, each times an element.
template <typename T>
void multiply_row(const Product& p) {
  using Word = typename Modular<T>::Word;
  std::vector<Word> sums(p.n());
  int64_t added = 0;
  for (int64_t k = 0; k < p.k(); ++k) {
    const Word factor = Modular<T>::word(load<T>(p.a.data + k * p.a.column_step));
    if constexpr (std::is_same_v<T, bool>) {
      if (!factor) continue;
      if (added++ % kRowsAdded == kRowsAdded - 1 && are_all_set(sums)) break;
    }
    const char* row = p.b.data + k * p.b.row_step;
    for (int64_t j = 0; j < p.n(); ++j) {
      const Word element = Modular<T>::word(load<T>(row + j * int64_t(sizeof(T))));
      Modular<T>::accumulate(sums[j], factor, element);
    }
  }
  for (int64_t j = 0; j < p.n(); ++j) {
    const T value = Modular<T>::element(sums[j]);
    std::memcpy(p.out.data + j * p.out.column_step, static_cast<const void*>(&value), sizeof(T));
  }
}

template <typename T, int kBytes>
void multiply_as_fits(const Product& p) {
  const bool is_row = p.m() == 1 && p.n() > 1 && p.b.column_step == int64_t(sizeof(T));
  if (is_row) return multiply_row<T>(p);
  // Blocks of vectors would not be used twice.
  if (p.m() == 1 || p.m() * p.n() * p.k() <= 512) return multiply_dots<T>(p);
  multiply<T, kBytes>(p);
}

using ProductFn = void (*)(const Product&);

// The same code for the vectors of each CPU: all that they call is inlined into them.
template <typename T>
OFL_AVX512 OFL_FLAT void multiply_512(const Product& p) {
  multiply_as_fits<T, 64>(p);
}
template <typename T>
OFL_AVX2 OFL_FLAT void multiply_256(const Product& p) {
  multiply_as_fits<T, 32>(p);
}

template <typename T>
ProductFn choose() {
  return choose_by_isa<ProductFn>("gemm_integer", multiply_as_fits<T, 16>, multiply_256<T>,
                                  multiply_512<T>);
}

template <typename T>
void run(const Product& p) {
  static const ProductFn multiply_here = choose<T>();
  multiply_here(p.n() == 1 && p.m() > 1 ? p.transposed() : p);
}

template <typename T>
void run_all(BatchedProduct& plan, ep::HelperPool* helpers) {
  const int64_t count = plan.count();
  const Product& first = plan.first;
  const double each = product_work(first.m(), first.k(), first.n(), first.out.dtype);
  const auto one = [&](int64_t i) { run<T>(plan[i]); };
  if (!is_divisible(helpers, each * static_cast<double>(count))) {
    for (int64_t i = 0; i < count; ++i) one(i);
    return;
  }
  const int64_t threads = helpers->threads();
  const int64_t parts = count >= 2 * threads ? 1 : 2 * threads;
  const Grid grid = cut(plan.first, parts);
  const int64_t all = count * grid.count();
  const int64_t step = std::max<int64_t>(1, static_cast<int64_t>(kPieceWork / each));
  helpers->parallel_for((all + step - 1) / step, [&](int64_t piece) {
    for (int64_t i = piece * step; i < std::min(all, (piece + 1) * step); ++i) {
      run<T>(grid.part(plan[i / grid.count()], i % grid.count()));
    }
  });
}

}  // namespace

void integer_product(const LoopArgs& args) {
  BatchedProduct plan = plan_products(args);
  switch (args.dtype[args.iteration.operands - 1]) {
    case DType::b1: return run_all<bool>(plan, args.helpers);
    case DType::i8:
    case DType::u8: return run_all<uint8_t>(plan, args.helpers);
    case DType::i16:
    case DType::u16: return run_all<uint16_t>(plan, args.helpers);
    case DType::i32:
    case DType::u32: return run_all<uint32_t>(plan, args.helpers);
    default: return run_all<uint64_t>(plan, args.helpers);
  }
}

}  // namespace ofl::ops
