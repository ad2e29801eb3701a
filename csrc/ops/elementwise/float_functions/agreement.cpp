#include "ops/elementwise/float_functions/agreement.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>

#include "ops/elementwise/float_functions/formulas/double_tables.h"
#include "ops/elementwise/float_functions/formulas/power_tables.h"
#include "ops/elementwise/float_functions/formulas/sine_table.h"

namespace ofl::ops {

namespace {

using Bits = std::vector<int64_t>;  // of positive numbers, in their order
constexpr double kLn2 = 0.693147180559945309, kHalfPi = 1.57079632679489662;

template <typename T>
struct Format;
template <>
struct Format<float> {
  using Word = uint32_t;
  static constexpr int64_t kNormal = 0x00800000, kInfinity = 0x7f800000, kNan = 0x7fc00000;
  static constexpr int64_t kTiny = 0x30000000;  // nothing happens from 0 to there
};
template <>
struct Format<double> {
  using Word = uint64_t;
  static constexpr int64_t kNormal = int64_t{1} << 52, kInfinity = 0x7ff0000000000000,
                           kNan = 0x7ff8000000000000;
  static constexpr int64_t kTiny = 0x3c00000000000000;
};
template <typename T>
constexpr auto kSignBit = typename Format<T>::Word{1} << (8 * sizeof(T) - 1);
template <typename T>
constexpr int64_t kLastBits = static_cast<int64_t>(kSignBit<T> - 1);

template <typename T>
int64_t bits_of(double value) {
  const auto rounded = static_cast<T>(value);
  typename Format<T>::Word bits;
  std::memcpy(&bits, &rounded, sizeof bits);
  return static_cast<int64_t>(bits);
}

template <typename T>
T of_bits(typename Format<T>::Word bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// See thresholds().
template <typename Add>
void add_of_doubles(FloatFunction function, const Add& add) {
  switch (function) {
    case FloatFunction::exp:
      add({0x1p-54, 0.0027, 0.7, 10, 100, 512, 708.3964185, 709.7827128, 745.1332191});
      break;
    case FloatFunction::log10: add({0.5, 1.875, 2.0}); [[fallthrough]];
    case FloatFunction::log:
      add({0.6875, 0.9375, 1.0, 0x1.109p0, 1.375, 0x1.fffffffffffffp1023});
      break;
    case FloatFunction::exp2: add({0x1p-54, 0.015625, 1, 512, 928, 1022, 1024, 1075}); break;
    case FloatFunction::log2:
      add({0.5, 0.6875, 1.0 - 0x1.5b51p-5, 1.0, 1.0 + 0x1.6ab2p-5, 1.375, 1.875, 2.0});
      add({0x1.fffffffffffffp1023});
      break;
    case FloatFunction::expm1:
      add({0x1p-54, 0x1.62e43p-2, 0.4431472, 0x1.0a2b2p+0, 0x1.3687ap+5});
      add({64, 709, 709.7827128, 745.1332191});
      break;
    case FloatFunction::log1p:
      add({0x1p-54, 0x1p-29, 0x1.2bec4p-2, 0x1.a827ap-2, 1.0, 0x1p53, 0x1.fffffffffffffp1023});
      break;
    case FloatFunction::cbrt: add({1.0}); break;
    case FloatFunction::sinh:
      add({0x1p-28, 0x1.62e43p-2, 0.4431471805599453, 1, 0x1.0a2b2p+0, 22, 512});
      add({709.7827128, 710.4758601});
      break;
    case FloatFunction::cosh:
      add({0x1p-55, 0x1.62e43p-2, 1, 4, 22, 512, 709.7827128, 710.4758601});
      break;
    // Where the sum of log1p reaches its limits, and powers of two.
    case FloatFunction::atanh:
      add({0x1p-28, 0.17157290785473278, 1.0 / 3, 0.5, 0.6, 7.0 / 9, 1});
      break;
    case FloatFunction::asinh:
      add({0x1p-28, 0.35355346184781367, 0.75, 1.2374364375164546, 1.875, 2, 0x1.00001p1});
      add({0x1p28, 0x1.00001p28});
      break;
    case FloatFunction::acosh:
      add({1, 1.0606601955313368, 1.25, 1.5909899235675298, 2, 0x1p28});
      break;
    case FloatFunction::sin:
    case FloatFunction::cos:
      add({0x1p-27, 0x1p-26, 0.126, 0.85546875, 0x1.368fdp1, 10, 1000, 105414350});
      break;
    default: break;
  }
}

/// Where the code of the function, or of NumPy's, changes.
template <typename T>
Bits thresholds(FloatFunction function) {
  using F = Format<T>;
  Bits found = {0, F::kNormal, F::kInfinity, F::kNan};
  const auto add = [&](std::initializer_list<double> values) {
    for (const double value : values) found.push_back(bits_of<T>(value));
  };
  if constexpr (sizeof(T) == sizeof(double)) {
    add_of_doubles(function, add);
    return found;
  }
  switch (function) {
    case FloatFunction::exp:
      add({1.2e-38, 0.17, 0.35, 86, 86.99, 87.68, 88.72284, 103.97208});
      break;
    case FloatFunction::log:
      add({1.2e-38, 0.5, 0.70710678, 1.0, 1.4142135, 2.0, 3.4028235e38});
      break;
    case FloatFunction::tanh:
      for (int64_t row = 0x3d400000; row < 0x41400000; row += 0x200000) found.push_back(row);
      break;
    case FloatFunction::sin: add({0.7853982, 2.3561945, 3.926991, 100.0, 117435.992}); break;
    case FloatFunction::cos: add({0.7853982, 2.3561945, 3.926991, 100.0, 71476.0625}); break;
    case FloatFunction::exp2: add({0x1p-54, 0.015625, 1, 126, 127, 128, 149, 150}); break;
    case FloatFunction::log2:
    case FloatFunction::log10: add({0.69921875, 1.0, 1.3984375, 2.0, 3.4028235e38}); break;
    case FloatFunction::expm1:
      add({0x1p-25, 0.34657359, 1.0397208, 15.5, 15.6, 18.714974, 88.72284, 103.97208});
      break;
    case FloatFunction::log1p: add({0x1p-29, 0.29289323, 0.41421356, 1.0, 0x1p53}); break;
    case FloatFunction::atan: add({0x1p-29, 0.4375, 0.6875, 1.1875, 2.4375, 0x1p25}); break;
    case FloatFunction::cbrt: add({1.0}); break;
    case FloatFunction::sinh:
      add({0x1p-28, 0.34657359, 1, 1.0397208, 15.5, 22, 88.72284, 89.415985});
      break;
    case FloatFunction::atanh: add({0x1p-28, 0.17157288, 0.5, 1}); break;
    case FloatFunction::cosh: add({0.34657359, 1, 2, 4, 8, 22, 88, 88.72168, 89.415985}); break;
    case FloatFunction::tan: add({0x1p-13, 0.6744, 0.78539816, 1.5707963, 2.4, 32, 120}); break;
    case FloatFunction::asin: add({0x1p-27, 0.5, 0.975, 1}); break;
    case FloatFunction::acos: add({0x1p-26, 0.5, 1}); break;
    // Up to 2: where log1p's sum reaches another exponent.
    case FloatFunction::asinh: add({0x1p-15, 0.35355339, 0.75, 1.2374369, 1.875, 2, 0x1p15}); break;
    case FloatFunction::acosh: add({1, 1.0606602, 1.25, 1.5909903, 2, 0x1p28}); break;
    case FloatFunction::pow:
    case FloatFunction::none: break;
  }
  return found;
}

/// Arguments are reduced by multiples of this.
double period_of(FloatFunction function, bool is_double) {
  const int rows = is_double ? float_functions::kDoubleRows : float_functions::kExp2Rows;
  switch (function) {
    case FloatFunction::exp: return is_double ? kLn2 / rows : kLn2;
    case FloatFunction::expm1:
    case FloatFunction::sinh: return kLn2;
    case FloatFunction::exp2: return 1.0 / rows;
    case FloatFunction::cosh: return kLn2 / rows;
    default: return kHalfPi;
  }
}

/// The first numbers halfway between two multiples of the period; or where the rows of a table end.
template <typename T>
Bits ties(FloatFunction function) {
  constexpr bool is_double = sizeof(T) == sizeof(double);
  constexpr int kTies = 150, kRows = float_functions::kDoubleRows;
  constexpr int kLog2Rows = float_functions::kDoubleLog2Rows;
  Bits found;
  const auto none = {FloatFunction::tanh, FloatFunction::atan, FloatFunction::atanh,
                     FloatFunction::asin, FloatFunction::acos};
  if (std::count(none.begin(), none.end(), function)) return found;
  const bool is_log2 = function == FloatFunction::log2;
  if (function == FloatFunction::log || is_log2 || function == FloatFunction::log10) {
    for (int i = 0; is_double && i <= (is_log2 ? kLog2Rows : kRows); ++i) {
      found.push_back(bits_of<T>(0.6875) + (int64_t{i} << (is_log2 ? 46 : 45)));
    }
    if (is_double || function == FloatFunction::log) return found;
    for (int i = 0; i <= float_functions::kLog2Rows; ++i) {
      found.push_back(bits_of<T>(0.69921875) + (int64_t{i} << 19));
    }
    return found;
  }
  // Of numbers that are so large, log is called with the number.
  const bool is_of_large = function == FloatFunction::asinh || function == FloatFunction::acosh;
  for (int i = 0; is_of_large && i <= (is_double ? kRows : float_functions::kLog2Rows); ++i) {
    const int64_t row = int64_t{i} << (is_double ? 45 : 19);
    found.push_back(bits_of<T>((is_double ? 0.6875 : 0.69921875) * 0x1p30) + row);
  }
  if (is_of_large) return found;
  for (int i = -126; function == FloatFunction::cbrt && i < 128; ++i) {
    found.push_back(bits_of<T>(std::ldexp(1.0, i)));
  }
  for (int i = 1; function == FloatFunction::log1p && i < 128; ++i) {
    for (const double root : {is_double ? 0x1.6a09ep-1 : 0x1.6a09eep-1, 1.0}) {
      found.push_back(bits_of<T>(std::ldexp(root, i) - 1));
    }
  }
  if (function == FloatFunction::cbrt || function == FloatFunction::log1p) return found;
  const bool has_angles = function == FloatFunction::sin || function == FloatFunction::cos;
  for (int i = 0; has_angles && is_double && i < float_functions::kSineRows; ++i) {
    found.push_back(bits_of<T>((i + 0.5) / 128));
  }
  for (int i = 1; has_angles && is_double && i < kTies; ++i) {  // where almost nothing is left
    found.push_back(bits_of<T>(i * kHalfPi));
  }
  for (int i = 0; function == FloatFunction::sinh && is_double && i < kRows; ++i) {
    found.push_back(bits_of<T>(22 + (i + 0.5) * kLn2 / kRows));  // from there on it is exp
  }
  const double period = period_of(function, is_double);
  for (int i = 0; i < kTies; ++i) found.push_back(bits_of<T>((i + 0.5) * period));
  for (int i = 1; function == FloatFunction::tan && i < kTies / 2; ++i) {
    for (const double near : {-0.6744, 0.0, 0.6744}) {
      found.push_back(bits_of<T>(i * period + near));
    }
  }
  return found;
}

/// Of functions that call exp, expm1, log or log1p.
std::vector<double> witnesses_of_callers(FloatFunction function) {
  switch (function) {
    case FloatFunction::cosh:  // besides those of exp
      return {0x1.176c86069f60dp-3, 0x1.fb225ab4fbeep-3,  0x1.f3688f9a23021p-3,
              0x1.0b797e5660727p-2, 0x1.600d85b226567p-2, 0x1.97af4af441547p-2,
              0x1.092029cdfcde2p-1};
    case FloatFunction::sinh:
      return {0x1.6e4909261a5ecp-3, 0x1.8eb7300bfa844p-3, 0x1.b61a4f5d36e6p-3,
              0x1.f3ad68b67108p-3,  0x1.aa9fd5eb491dcp+0, 0x1.0c00fd5edf448p-4,
              0x1.49826482068fp-4,  0x1.9697cc8dfccap-3,  0x1.c6ac09ce2fa2p-3,
              0x1.101f3676bafcfp+2, 0x1.2b67ff2d4cad3p+3, 0x1.6b3f4bac7ffbap+4,
              0x1.728eeadc75737p+4, 0x1.4983c8a207be5p+5, 0x1.05c87eee3e82ap+6,
              0x1.7c23dcc82cc4ap+6, 0x1.87dfcdbc3804dp+6};
    case FloatFunction::atanh:
      return {0x1.677e4fcbb8fp-6, 0x1.90bcb34d5da2p-6, 0x1.ab0e1235c8733p-1};
    case FloatFunction::asinh:
      return {0x1.d0c11cc237fp-6,   0x1.2bb9c98a5c34p-4,  0x1.8bc4ab9f32f3p-3,
              0x1.1819570ea55cp-2,  0x1.213d9410b2727p+0, 0x1.5565e1a361e5cp+1,
              0x1.564e4ec708cdap+1, 0x1.9e13a7bcb2bb7p+5};
    case FloatFunction::acosh:
      return {0x1.014df1d031ff2p+0, 0x1.01f582d72adacp+0, 0x1.038453a0202f2p+0,
              0x1.0410fb8937ac4p+0, 0x1.704495797341fp+0, 0x1.02003d94c0a36p+1,
              0x1.04f52dcfaf154p+1, 0x1.b2d62c99c7ccfp+3};
    default: return {};
  }
}

std::vector<double> witnesses_of_doubles(FloatFunction function) {
  std::vector<double> found = witnesses_of_callers(function);
  switch (function) {
    case FloatFunction::cosh:
    case FloatFunction::exp:
      found.insert(found.end(), {0x1.1a05c38f1485ep+0, 0x1.8677089651f22p+4, 0x1.5af7e0b816bc5p+0,
                                 0x1.5e2d020d3cb8bp+0, 0x1.3b132d2df8623p-1, 0x1.67f70a891498cp+2,
                                 0x1.db1f04cf9c19dp+4, 0x1.3808be176f023p+4});
      return found;
    case FloatFunction::log:
      return {0x1.49c7b6b815fc2p+1, 0x1.a7fd5eb348be9p+1, 0x1.07ede151637efp+1,
              0x1.5bd7dda9582d5p-1, 0x1.0c64a1edc5f3fp+0, 0x1.0f9b23305fa10p+0,
              0x1.104e11172c374p+0, 0x1.e66580b1b8022p-1, 0x1.e2188f539ff64p-1,
              0x1.e215dffe0355ap-1, 0x1.0ef37157c3bcep+0, 0x1.f8c1c560762bdp-1};
    case FloatFunction::exp2:
      return {0x1.4db4f5fed242p+2, 0x1.4ba64259661ap+2, 0x1.bc71f4e9b5d1p-2};
    case FloatFunction::log2:
      return {0x1.07acecefc7fa7p+0, 0x1.eb4a09019dd3ap-1, 0x1.edb1e75edfb4p-1,
              0x1.2fef16b1b6519p+0, 0x1.d7f69824aa2cep-1, 0x1.f455aad93148ap-1,
              0x1.0bac8f0907033p+0, 0x1.0bac73e51918dp+0, 0x1.06d8c2c63a269p+0};
    case FloatFunction::log10:
      return {0x1.0e0dcb53d1498p+0, 0x1.0c9b510601a98p+0, 0x1.e3400ca6755edp-1,
              0x1.845bf3da254a7p+0, 0x1.29ff288418a56p+0, 0x1.e6d8bce0aa62ep-1,
              0x1.0c401e3a92bffp+0, 0x1.15dc431e94106p+0};
    case FloatFunction::expm1:
      return {0x1.6282e6a22a75ap-2, 0x1.f116214a70f1cp-3, 0x1.38d3775d4830ap-2};
    case FloatFunction::log1p: return {0x1.1d28ab96a5fbbp+2, 0x1.dc45e764dedf6p-3};
    case FloatFunction::sin:
    case FloatFunction::cos:
      return {
          0x1.988fe16e7caa2p+2, 0x1.856478a708acap+1, 0x1.227027949cd63p+3, 0x1.56f88b72294bep+3,
          0x1.12beda8ce7cdep+1, 0x1.5843bd2814b8ep-3, 0x1.fdc9e8356123cp-4, 0x1.319b67f9c1646p+3,
          0x1.9aad06cccf94dp+1, 0x1.8bcc528a642e2p+2, 0x1.96a2f9c94deddp-4, 0x1.ff1871b5b9491p-4,
          0x1.fb4efe9e8c24ap-4, 0x1.5d938e579fbc7p+3, 0x1.72127aa6bbf3p+0,  0x1.de03f4ed32afap+2,
          0x1.547366aab6caap+3, 0x1.e987fb20bb2a7p-3, 0x1.55a6cbd4cd1fp-1,  0x1.850f367c4b564p+0,
          0x1.afef0cfbaf6f6p+0, 0x1.83ace8c9a249p+0,  0x1.a12509169667fp+0, 0x1.ef53a41922232p+2};
    default: return found;
  }
}

std::vector<double> witnesses_of_floats(FloatFunction function) {
  switch (function) {
    case FloatFunction::expm1:
    case FloatFunction::sinh: return {0x1.ae4af4p-3, 0x1.835656p-3, 0x1.99885ep-3, 0x1.afbd76p-3};
    case FloatFunction::log1p:
      return {0x1.27842cp-4, 0x1.47a3c8p-4, 0x1.b303c6p-4, 0x1.038a72p-5, 0x1.012b4cp-5};
    case FloatFunction::atan: return {0x1.f5fb5cp-4, 0x1.3d957p-2, 0x1.94e718p-2, 0x1.bd2f1ap-2};
    case FloatFunction::atanh: return {0x1.7f2d8p-5, 0x1.99240cp-5, 0x1.000888p-5, 0x1.002646p-5};
    case FloatFunction::cosh: return {0x1.94e1fp-3, 0x1.7c234cp+0, 0x1.21afd8p-3, 0x1.04845ep+5};
    case FloatFunction::tan:
      return {0x1.e4e464p+1, 0x1.398650p-1, 0x1.d81c26p-1,
              0x1.5fdacep+3, 0x1.6e33a6p+4, 0x1.882f42p+4};
    case FloatFunction::asin: return {0x1.869dcp-1, 0x1.d12e9cp-12, 0x1.f35ed6p-1};
    case FloatFunction::acos: return {0x1.98cdp-2, 0x1.00b58p-1, 0x1.2d622p-11};
    case FloatFunction::asinh:
      return {0x1.3b81ap-4, 0x1.05b044p+1, 0x1.277dep-2, 0x1.00011p+1, 0x1.4a06aep+1};
    case FloatFunction::acosh:
      return {0x1.0373b8p+0, 0x1.2350d8p+1, 0x1.972144p+0, 0x1.001974p+1,
              0x1.15a6a2p+1, 0x1.61faa8p+1, 0x1.a016dcp+1};
    default: return {};
  }
}

/// Inputs that tell which products and sums are fused, where few do (six of 5 * 10^7 random ones of
/// float64 exp, ten of 10^7 of float32 expm1), or whether a coefficient is the next number.
template <typename T>
Bits witnesses(FloatFunction function) {
  Bits found;
  const auto of = sizeof(T) == sizeof(double) ? witnesses_of_doubles : witnesses_of_floats;
  for (const double value : of(function)) found.push_back(bits_of<T>(value));
  return found;
}

/// A loop's results for `count` inputs, with gaps between those and between these. The second of a
/// pair may have a step of 0.
template <typename T>
void call(CalledLoop called, const CheckInputs<T>& inputs, int64_t in_gap, int64_t second_gap,
          T* out, int64_t out_gap, int64_t count) {
  const auto at = [](const T* data) { return reinterpret_cast<char*>(const_cast<T*>(data)); };
  constexpr auto kSize = static_cast<intptr_t>(sizeof(T));
  const bool is_pair = !inputs.second.empty();
  char* args[] = {at(inputs.first.data()), is_pair ? at(inputs.second.data()) : at(out), at(out)};
  const intptr_t n = count;
  const intptr_t steps[] = {in_gap * kSize, (is_pair ? second_gap : out_gap) * kSize,
                            out_gap * kSize};
  called.loop(args, &n, steps, called.data);
}

template <typename T>
bool differs(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) != 0;
}

/// Of one exponent for many bases: NumPy has faster ways for some.
template <typename T>
int64_t differences_of_one(const CheckInputs<T>& inputs, CalledLoop reference, CalledLoop own) {
  constexpr int64_t kBases = 256;
  const int64_t step = inputs.count() / kBases;
  CheckInputs<T> some;
  for (int64_t i = 0; i < kBases; ++i) some.first.push_back(inputs.first[i * step]);
  std::vector<T> expected(kBases), found(kBases);
  int64_t different = 0;
  for (const double exponent : {-2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0}) {
    some.second = {static_cast<T>(exponent)};
    call(reference, some, 1, 0, expected.data(), 1, kBases);
    call(own, some, 1, 0, found.data(), 1, kBases);
    for (int64_t i = 0; i < kBases; ++i) different += differs(expected[i], found[i]);
  }
  return different;
}

}  // namespace

template <typename T>
CheckInputs<T> check_inputs(FloatFunction function) {
  if (function == FloatFunction::pow) return check_pairs<T>();
  constexpr int64_t kNear = 3, kInner = 512, kLast = kLastBits<T>;
  const Bits edges = thresholds<T>(function);
  Bits all, pieces = edges;
  pieces.insert(pieces.end(), {Format<T>::kTiny, kLast});
  std::sort(pieces.begin(), pieces.end());
  pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
  for (size_t i = 1; i < pieces.size(); ++i) {
    const int64_t length = pieces[i] - pieces[i - 1];
    const int64_t step = length / (kInner - 1), more = length % (kInner - 1);
    for (int64_t k = 0; k < kInner; ++k) {  // length * k would overflow
      all.push_back(pieces[i - 1] + step * k + more * k / (kInner - 1));
    }
  }
  for (const Bits& centres : {edges, ties<T>(function), witnesses<T>(function)}) {
    for (const int64_t centre : centres) {
      for (int64_t k = -kNear; k <= kNear; ++k) {
        all.push_back(std::clamp<int64_t>(centre + k, 0, kLast));
      }
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  CheckInputs<T> inputs;
  for (const auto sign : {typename Format<T>::Word{0}, kSignBit<T>}) {
    for (const int64_t bits : all) {
      inputs.first.push_back(of_bits<T>(static_cast<typename Format<T>::Word>(bits) | sign));
    }
  }
  return inputs;
}

template <typename T>
int64_t count_differences(const CheckInputs<T>& inputs, CalledLoop reference, CalledLoop own) {
  constexpr int64_t kInGap = 8, kOutGap = 3;
  const int64_t count = inputs.count(), some = count / kInGap;
  std::vector<T> expected(inputs.first.size()), found(inputs.first.size());
  call(reference, inputs, 1, 1, expected.data(), 1, count);
  call(own, inputs, 1, 1, found.data(), 1, count);
  int64_t different = 0;
  for (int64_t i = 0; i < count; ++i) different += differs(expected[i], found[i]);
  call(reference, inputs, kInGap, kInGap, expected.data(), kOutGap, some);
  for (int64_t i = 0; i < some; ++i) different += differs(expected[i * kOutGap], found[i * kInGap]);
  if (!inputs.second.empty()) different += differences_of_one(inputs, reference, own);
  return different;
}

template CheckInputs<float> check_inputs(FloatFunction);
template CheckInputs<double> check_inputs(FloatFunction);
template int64_t count_differences(const CheckInputs<float>&, CalledLoop, CalledLoop);
template int64_t count_differences(const CheckInputs<double>&, CalledLoop, CalledLoop);

}  // namespace ofl::ops
