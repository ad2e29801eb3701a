#include "ops/elementwise/float_functions/agreement.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ofl::ops {

namespace {

using Bits = std::vector<int64_t>;  // of positive floats, in their order

constexpr int64_t kLastBits = 0x7fffffff, kSignBit = 0x80000000;

int64_t bits_of(double value) {
  const auto rounded = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &rounded, sizeof bits);
  return bits;
}

/// Where the code of the function, or of NumPy's, changes.
Bits thresholds(FloatFunction function) {
  Bits found = {0, 0x00800000, 0x7f800000, 0x7fc00000};
  const auto add = [&](std::initializer_list<double> values) {
    for (const double value : values) found.push_back(bits_of(value));
  };
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
    case FloatFunction::none: break;
  }
  return found;
}

/// The first numbers halfway between two multiples of the period that the range is reduced by.
Bits ties(FloatFunction function) {
  constexpr double kLn2 = 0.693147180559945309, kHalfPi = 1.57079632679489662;
  constexpr int kTies = 150;
  Bits found;
  if (function == FloatFunction::log || function == FloatFunction::tanh) return found;
  const double period = function == FloatFunction::exp ? kLn2 : kHalfPi;
  for (int i = 0; i < kTies; ++i) found.push_back(bits_of((i + 0.5) * period));
  return found;
}

float of_bits(int64_t bits) {
  const auto word = static_cast<uint32_t>(bits);
  float value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

void call(CalledLoop called, const float* in, int64_t in_gap, float* out, int64_t out_gap,
          int64_t count) {
  char* args[] = {reinterpret_cast<char*>(const_cast<float*>(in)), reinterpret_cast<char*>(out)};
  constexpr auto kSize = static_cast<intptr_t>(sizeof(float));
  const intptr_t n = count, steps[] = {in_gap * kSize, out_gap * kSize};
  called.loop(args, &n, steps, called.data);
}

bool same_bits(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace

std::vector<float> check_points(FloatFunction function) {
  constexpr int64_t kNear = 3, kInner = 512, kTiny = 0x30000000;
  const Bits edges = thresholds(function);
  Bits all, pieces = edges;
  pieces.insert(pieces.end(), {kTiny, kLastBits});
  std::sort(pieces.begin(), pieces.end());
  pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
  for (size_t i = 1; i < pieces.size(); ++i) {
    const int64_t length = pieces[i] - pieces[i - 1];
    for (int64_t k = 0; k < kInner; ++k) {
      all.push_back(pieces[i - 1] + length * k / (kInner - 1));
    }
  }
  for (const Bits& centres : {edges, ties(function)}) {
    for (const int64_t centre : centres) {
      for (int64_t k = -kNear; k <= kNear; ++k) {
        all.push_back(std::clamp<int64_t>(centre + k, 0, kLastBits));
      }
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::vector<float> inputs;
  for (const int64_t sign : {int64_t{0}, kSignBit}) {
    for (const int64_t bits : all) inputs.push_back(of_bits(bits | sign));
  }
  return inputs;
}

int64_t count_differences(const std::vector<float>& inputs, CalledLoop reference, CalledLoop own) {
  constexpr int64_t kInGap = 8, kOutGap = 3;
  const auto count = static_cast<int64_t>(inputs.size());
  std::vector<float> expected(inputs.size()), found(inputs.size());
  call(reference, inputs.data(), 1, expected.data(), 1, count);
  call(own, inputs.data(), 1, found.data(), 1, count);
  int64_t different = 0;
  for (int64_t i = 0; i < count; ++i) different += !same_bits(expected[i], found[i]);
  const int64_t some = count / kInGap;
  call(reference, inputs.data(), kInGap, expected.data(), kOutGap, some);
  for (int64_t i = 0; i < some; ++i) {
    different += !same_bits(expected[i * kOutGap], found[i * kInGap]);
  }
  return different;
}

}  // namespace ofl::ops
