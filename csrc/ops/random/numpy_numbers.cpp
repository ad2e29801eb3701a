#include "ops/random/numpy_numbers.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "ops/random/numpy_scan.h"

namespace ofl::ops {

namespace {

constexpr double kDoubleStep = 1.0 / (int64_t{1} << 53);
constexpr float kSingleStep = 1.0f / (1 << 24);

double double_of(uint64_t word) { return static_cast<double>(word >> 11) * kDoubleStep; }

// --- generators as NumPy's functions take them

/// `State` has next_word(), next_half() and next_double().
template <typename State>
BitGenerator generator_of(State* state) {
  BitGenerator generator;
  generator.state = state;
  generator.next_uint64 = [](void* of) { return static_cast<State*>(of)->next_word(); };
  generator.next_uint32 = [](void* of) { return static_cast<State*>(of)->next_half(); };
  generator.next_double = [](void* of) { return static_cast<State*>(of)->next_double(); };
  generator.next_raw = generator.next_uint64;
  return generator;
}

/// The units that a number is drawn from. A function that takes another kind of them draws in
/// another way than is known; the comparison finds that.
template <typename Unit>
struct FromUnits {
  Units<Unit>* units;

  uint64_t next_word() { return units->next(); }
  uint32_t next_half() { return static_cast<uint32_t>(units->next()); }
  double next_double() { return double_of(units->next()); }
};

/// All bits, as PCG64 gives them.
struct FromBits {
  NumpyBits bits;

  uint64_t next_word() { return bits.words.next(); }
  uint32_t next_half() {
    bits.has_half = !bits.has_half;
    if (!bits.has_half) return bits.half;
    const uint64_t word = bits.words.next();
    bits.half = static_cast<uint32_t>(word >> 32);
    return static_cast<uint32_t>(word);
  }
  double next_double() { return double_of(bits.words.next()); }
};

/// One unit, and then 0 and a half in turn: as fractions they have every number accepted.
struct Script {
  uint64_t unit;
  int taken = 0;

  bool is_half() { return taken > 0 && taken % 2 == 0; }
  uint64_t next_word() {
    const uint64_t word = is_half() ? uint64_t{1} << 63 : taken == 0 ? unit : 0;
    ++taken;
    return word;
  }
  uint32_t next_half() {
    const bool is_first = taken == 0;
    const uint64_t word = next_word();
    return static_cast<uint32_t>(is_first ? word : word >> 32);
  }
  double next_double() { return double_of(next_word()); }
};

}  // namespace

// --- tables

/// Of a layer: a unit that is below `limit` is accepted, and becomes unit * factor.
template <typename Number, typename Unit>
struct Layer {
  Number factor;
  Unit limit;
};

class NumberTables {
 public:
  static constexpr int kLayers = 256;

  Numbers kind;
  DType dtype;
  NumpyFunctions functions;
  Layer<double, uint64_t> doubles[kLayers];
  Layer<float, uint32_t> singles[kLayers];
};

namespace {

template <typename T>
using UnitOf = std::conditional_t<std::is_same_v<T, double>, uint64_t, uint32_t>;

template <typename T>
const Layer<T, UnitOf<T>>* layers_of(const NumberTables& tables) {
  if constexpr (std::is_same_v<T, double>) {
    return tables.doubles;
  } else {
    return tables.singles;
  }
}

// --- rules

template <typename T>
struct MovedRule {
  Moved move;

  T moved(T x) const {
    return move.moves ? static_cast<T>(move.low) + static_cast<T>(move.width) * x : x;
  }
};

template <typename T>
struct UniformRule : MovedRule<T> {
  static constexpr bool kAcceptsAll = true;
  using Number = T;
  using Unit = UnitOf<T>;

  bool accepts(Unit unit, T* x) const {
    if constexpr (std::is_same_v<T, double>) {
      *x = static_cast<double>(static_cast<int64_t>(unit >> 11)) * kDoubleStep;
    } else {
      *x = static_cast<float>(static_cast<int32_t>(unit >> 8)) * kSingleStep;
    }
    return true;
  }
  T draw(Units<Unit>*) const { return 0; }
};

/// Of layers: those that are not accepted at once are drawn by NumPy's function.
template <typename T>
struct LayeredRule : MovedRule<T> {
  static constexpr bool kAcceptsAll = false;
  using Number = T;
  using Unit = UnitOf<T>;

  const Layer<T, Unit>* layers;
  void* function;

  T draw(Units<Unit>* units) const {
    FromUnits<Unit> from{units};
    BitGenerator generator = generator_of(&from);
    return reinterpret_cast<T (*)(BitGenerator*)>(function)(&generator);
  }
};

template <typename T>
struct NormalRule : LayeredRule<T> {
  using Unit = UnitOf<T>;
  static constexpr int kSign = 8, kFirst = 9;
  static constexpr int kBits = std::is_same_v<T, double> ? 52 : 23;

  static Unit unit_of(int layer, Unit size) { return static_cast<Unit>(size << kFirst | layer); }

  bool accepts(Unit unit, T* x) const {
    using Signed = std::make_signed_t<Unit>;
    const Layer<T, Unit>& layer = this->layers[unit & 255];
    const Unit size = (unit >> kFirst) & ((Unit{1} << kBits) - 1);
    const T number = static_cast<T>(static_cast<Signed>(size)) * layer.factor;
    Unit pattern;  // half of all numbers are negative: no branch would be foreseen
    std::memcpy(&pattern, &number, sizeof pattern);
    pattern ^= ((unit >> kSign) & 1) << (8 * sizeof(Unit) - 1);
    std::memcpy(x, &pattern, sizeof pattern);
    return size < layer.limit;
  }
};

template <typename T>
struct ExponentialRule : LayeredRule<T> {
  using Unit = UnitOf<T>;
  static constexpr int kUnused = std::is_same_v<T, double> ? 3 : 1;
  static constexpr int kBits = std::is_same_v<T, double> ? 53 : 23;

  static Unit unit_of(int layer, Unit size) {
    return static_cast<Unit>((size << 8 | layer) << kUnused);
  }

  bool accepts(Unit unit, T* x) const {
    using Signed = std::make_signed_t<Unit>;
    const Layer<T, Unit>& layer = this->layers[(unit >> kUnused) & 255];
    const Unit size = unit >> (kUnused + 8);
    *x = static_cast<T>(static_cast<Signed>(size)) * layer.factor;
    return size < layer.limit;
  }
};

template <typename T, typename UnitType>
struct IntegerRule {
  static constexpr bool kAcceptsAll = false;
  using Number = T;
  using Unit = UnitType;
  using Wide = std::conditional_t<sizeof(Unit) == 8, unsigned __int128, uint64_t>;

  T low;
  Unit count, least;  // count 0: all units

  IntegerRule(uint64_t from, uint64_t range)
      : low(static_cast<T>(from)),
        count(static_cast<Unit>(range + 1)),
        least(count ? static_cast<Unit>(Unit{0} - count) % count : 0) {}

  bool accepts(Unit unit, T* x) const {
    const Wide product = count ? Wide{unit} * count : Wide{unit} << (8 * sizeof(Unit));
    *x = static_cast<T>(low + static_cast<T>(product >> (8 * sizeof(Unit))));
    return static_cast<Unit>(product) >= least;
  }
  T draw(Units<Unit>* units) const {
    T x;
    while (!accepts(units->next(), &x)) {
    }
    return x;
  }
  T moved(T x) const { return x; }
};

// --- calls

template <typename Rule>
Rule rule_of(const NumberTables& tables, const Moved& moved) {
  Rule rule;
  rule.move = moved;
  if constexpr (!std::is_same_v<Rule, UniformRule<typename Rule::Number>>) {
    rule.layers = layers_of<typename Rule::Number>(tables);
    rule.function = tables.functions.draw;
  }
  return rule;
}

template <typename T>
void draw_as(NumpyBits* bits, const NumberTables& tables, const Moved& moved, int64_t count, T* out,
             ep::HelperPool* helpers) {
  switch (tables.kind) {
    case Numbers::uniform:
      return scan(bits, rule_of<UniformRule<T>>(tables, moved), count, out, helpers);
    case Numbers::normal:
      return scan(bits, rule_of<NormalRule<T>>(tables, moved), count, out, helpers);
    case Numbers::exponential:
      return scan(bits, rule_of<ExponentialRule<T>>(tables, moved), count, out, helpers);
  }
}

// --- what NumPy's functions show

/// One number from a unit, and how many units it took.
template <typename T, typename Unit>
T drawn_from(void* function, Unit unit, int* taken) {
  Script script{unit};
  BitGenerator generator = generator_of(&script);
  const T x = reinterpret_cast<T (*)(BitGenerator*)>(function)(&generator);
  *taken = script.taken;
  return x;
}

template <template <typename> class Rule, typename T>
void read_layers(void* function, Layer<T, UnitOf<T>>* layers) {
  using Unit = UnitOf<T>;
  int taken;
  for (int i = 0; i < NumberTables::kLayers; ++i) {
    Unit low = 0, high = Unit{1} << Rule<T>::kBits;  // limits that are possible
    while (low < high) {
      const Unit middle = low + (high - low) / 2;
      drawn_from<T>(function, Rule<T>::unit_of(i, middle), &taken);
      (taken == 1 ? low : high) = taken == 1 ? middle + 1 : middle;
    }
    layers[i] = {drawn_from<T>(function, Rule<T>::unit_of(i, 1), &taken), low};
  }
}

template <typename T>
void read_tables(NumberTables* tables, Layer<T, UnitOf<T>>* layers) {
  void* const draw = tables->functions.draw;
  if (tables->kind == Numbers::normal) read_layers<NormalRule, T>(draw, layers);
  if (tables->kind == Numbers::exponential) read_layers<ExponentialRule, T>(draw, layers);
}

bool are_equal(const NumpyBits& a, const NumpyBits& b) {
  return a.words.state == b.words.state && a.has_half == b.has_half && a.half == b.half;
}

/// Compares many numbers, some of which took many units, and the bits that are left.
template <typename T, typename WithNumpy, typename WithOurs>
bool agree(const WithNumpy& with_numpy, const WithOurs& with_ours) {
  constexpr int64_t kCount = 20000;
  FromBits from{{{Pcg64::kFactor, 1}, true, 0x12345678}};
  NumpyBits own = from.bits;
  std::vector<T> wanted(kCount), got(kCount);
  BitGenerator generator = generator_of(&from);
  with_numpy(&generator, kCount, wanted.data());
  with_ours(&own, kCount, got.data());
  return std::memcmp(wanted.data(), got.data(), kCount * sizeof(T)) == 0 &&
         are_equal(own, from.bits);
}

template <typename T>
bool tables_agree(const NumberTables& tables) {
  using Fill = void (*)(BitGenerator*, intptr_t, T*);
  return agree<T>(
      [&](BitGenerator* generator, int64_t count, T* out) {
        reinterpret_cast<Fill>(tables.functions.fill)(generator, count, out);
      },
      [&](NumpyBits* bits, int64_t count, T* out) {
        draw_as(bits, tables, {}, count, out, nullptr);
      });
}

template <typename T>
bool integers_agree(void* function, DType dtype, T range) {
  using Fill = void (*)(BitGenerator*, T, T, intptr_t, bool, T*);
  const T low = T{0} - 7;
  return agree<T>(
      [&](BitGenerator* generator, int64_t count, T* out) {
        reinterpret_cast<Fill>(function)(generator, low, range, count, false, out);
      },
      [&](NumpyBits* bits, int64_t count, T* out) {
        draw_integers(bits, dtype, low, range, count, out, nullptr);
      });
}

}  // namespace

bool integers_agree(void* fill_64, void* fill_32) {
  constexpr uint64_t kRanges[] = {0, 1, 999, uint64_t{1} << 31, UINT32_MAX};
  constexpr uint64_t kWide[] = {uint64_t{1} << 32, uint64_t{1} << 63, UINT64_MAX};
  const auto agrees_64 = [&](uint64_t range) {
    return integers_agree<uint64_t>(fill_64, DType::u64, range);
  };
  const auto agrees_32 = [&](uint64_t range) {
    return integers_agree<uint32_t>(fill_32, DType::u32, static_cast<uint32_t>(range));
  };
  return fill_64 && fill_32 && std::all_of(std::begin(kRanges), std::end(kRanges), agrees_64) &&
         std::all_of(std::begin(kWide), std::end(kWide), agrees_64) &&
         std::all_of(std::begin(kRanges), std::end(kRanges), agrees_32);
}

std::shared_ptr<const NumberTables> number_tables(Numbers kind, DType dtype,
                                                  const NumpyFunctions& functions) {
  if (!functions.draw || !functions.fill) return nullptr;
  auto tables = std::make_shared<NumberTables>();
  tables->kind = kind;
  tables->dtype = dtype;
  tables->functions = functions;
  const bool is_double = dtype == DType::f64;
  if (is_double) {
    read_tables<double>(tables.get(), tables->doubles);
  } else {
    read_tables<float>(tables.get(), tables->singles);
  }
  const bool agree = is_double ? tables_agree<double>(*tables) : tables_agree<float>(*tables);
  return agree ? tables : nullptr;
}

void draw_numbers(NumpyBits* bits, const NumberTables& tables, const Moved& moved, int64_t count,
                  void* out, ep::HelperPool* helpers) {
  if (tables.dtype == DType::f64) {
    draw_as(bits, tables, moved, count, static_cast<double*>(out), helpers);
  } else {
    draw_as(bits, tables, moved, count, static_cast<float*>(out), helpers);
  }
}

void draw_integers(NumpyBits* bits, DType dtype, uint64_t low, uint64_t range, int64_t count,
                   void* out, ep::HelperPool* helpers) {
  const bool is_wide = size_of(dtype) == sizeof(uint64_t);
  if (range == 0 && is_wide) {  // no bits are taken
    std::fill_n(static_cast<uint64_t*>(out), count, low);
  } else if (range == 0) {
    std::fill_n(static_cast<uint32_t*>(out), count, static_cast<uint32_t>(low));
  } else if (!is_wide) {
    scan(bits, IntegerRule<uint32_t, uint32_t>(low, range), count, static_cast<uint32_t*>(out),
         helpers);
  } else if (range <= UINT32_MAX) {
    scan(bits, IntegerRule<uint64_t, uint32_t>(low, range), count, static_cast<uint64_t*>(out),
         helpers);
  } else {
    scan(bits, IntegerRule<uint64_t, uint64_t>(low, range), count, static_cast<uint64_t*>(out),
         helpers);
  }
}

}  // namespace ofl::ops
