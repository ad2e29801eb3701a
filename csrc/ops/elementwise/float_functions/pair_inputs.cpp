// The inputs at which loops of pow may differ.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>

#include "ops/elementwise/float_functions/agreement.h"
#include "ops/elementwise/float_functions/formulas/double_tables.h"
#include "ops/elementwise/float_functions/formulas/power_tables.h"

namespace ofl::ops {

namespace {

constexpr double kLn2 = 0.693147180559945309;
constexpr int kRandomPairs = 4096, kTies = 150;

template <typename T>
constexpr bool kIsDouble = sizeof(T) == sizeof(double);

/// `value`, and its neighbours.
template <typename T>
std::vector<T> around(T value) {
  const T infinity = std::numeric_limits<T>::infinity();
  return {std::nextafter(value, -infinity), value, std::nextafter(value, infinity)};
}

/// Where the code changes: each with each.
template <typename T>
void add_thresholds(CheckInputs<T>* inputs) {
  using Limits = std::numeric_limits<T>;
  const std::vector<T> ends = {T(0),          Limits::denorm_min(), Limits::min(),
                               Limits::max(), Limits::infinity(),   Limits::quiet_NaN()};
  std::vector<T> bases = ends, exponents = ends;
  for (const double base : {0.5, 0.75, 1.0, 2.0, 10.0}) {
    for (const T near : around(static_cast<T>(base))) bases.push_back(near);
  }
  for (const double exponent : {0x1p-65, 1e-3, 0.5, 1.0, 2.0, 2.5, 3.0, 33.0, 0x1p23 + 1, 0x1p24,
                                0x1p51, 0x1p52 + 1, 0x1p53, 0x1p63}) {
    for (const T near : around(static_cast<T>(exponent))) exponents.push_back(near);
  }
  for (const T base : bases) {
    for (const T exponent : exponents) {
      for (const int signs : {0, 1, 2, 3}) {
        inputs->first.push_back(signs & 1 ? -base : base);
        inputs->second.push_back(signs & 2 ? -exponent : exponent);
      }
    }
  }
}

/// base^y = e^power.
template <typename T>
void add_power(double base, double power, CheckInputs<T>* inputs) {
  const T x = static_cast<T>(base);
  if (x == 1) return;
  inputs->first.push_back(x);
  inputs->second.push_back(static_cast<T>(power / std::log(static_cast<double>(x))));
}

/// Both sides of each row of the table of logarithms. These are even in the bits of numbers.
template <typename T>
void add_rows(CheckInputs<T>* inputs) {
  using Word = std::conditional_t<kIsDouble<T>, uint64_t, uint32_t>;
  constexpr int kRows = kIsDouble<T> ? float_functions::kPowRows : float_functions::kLog2Rows;
  constexpr Word kRowBits = Word{1} << (kIsDouble<T> ? 45 : 19);
  const T least = kIsDouble<T> ? T(0x1.69555p-1) : T(0.69921875);
  Word first;
  std::memcpy(&first, &least, sizeof first);
  for (Word row = 0; row <= kRows; ++row) {
    const Word bits = first + row * kRowBits;
    T edge;
    std::memcpy(&edge, &bits, sizeof edge);
    for (const T near : around(edge)) {
      for (const double power : {-2.1, 1e-3, 80.0}) add_power<T>(near, power, inputs);
    }
  }
}

/// Halfway between two powers of the table of powers.
template <typename T>
void add_ties(std::mt19937_64* random, CheckInputs<T>* inputs) {
  std::uniform_real_distribution<double> any(0.1, 9.0);
  const double step =
      kLn2 / (kIsDouble<T> ? float_functions::kDoubleRows : float_functions::kExp2Rows);
  for (int i = -kTies; i < kTies; ++i) add_power<T>(any(*random), (i + 0.5) * step, inputs);
}

/// Half of them with bases close to 1, half with small results.
template <typename T>
void add_any(std::mt19937_64* random, CheckInputs<T>* inputs) {
  std::uniform_real_distribution<double> any(-1.0, 1.0);
  const double most = kIsDouble<T> ? 760 : 110;
  for (int i = 0; i < kRandomPairs; ++i) {
    const double base = std::exp2(any(*random) * (i % 2 ? 30 : 0.03));
    add_power<T>(base, any(*random) * (i % 4 < 2 ? most : 4), inputs);
  }
}

/// Pairs that tell which products and sums are fused, where few do.
void add_witnesses(CheckInputs<double>* inputs) {
  constexpr double kWitnesses[][2] = {
      {0x1.dc20600dd09bcp-5, -0x1.25cdd7f9d4ccfp-4}, {0x1.ada60e0490612p-17, -0x1.4cf64ca7bab81p-2},
      {0x1.00f56e530d104p+0, 0x1.b4b293857255bp+16}, {0x1.f984257ac39bcp-1, -0x1.0d60bcfe1a333p+15},
      {0x1.513551dcca596p+23, 0x1.10cc9d97cf389p-3}, {0x1.01901d81b5f94p+0, 0x1.2caa654e18e43p+15},
  };
  for (const auto& pair : kWitnesses) {
    inputs->first.push_back(pair[0]);
    inputs->second.push_back(pair[1]);
  }
}
void add_witnesses(CheckInputs<float>*) {}

}  // namespace

template <typename T>
CheckInputs<T> check_pairs() {
  std::mt19937_64 random(1);  // any numbers, but always the same
  CheckInputs<T> inputs;
  add_thresholds(&inputs);
  add_rows(&inputs);
  add_ties(&random, &inputs);
  add_any(&random, &inputs);
  add_witnesses(&inputs);
  return inputs;
}

template CheckInputs<float> check_pairs();
template CheckInputs<double> check_pairs();

}  // namespace ofl::ops
