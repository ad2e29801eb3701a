#include "ops/elementwise/standard_values.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

namespace ofl::ops {

namespace {

constexpr intptr_t kBlock = 64;

template <typename T>
T load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
void store(char* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

/// Of floating-point numbers as bits: infinities are above all finite ones, NaNs above these.
template <typename Bits, Bits kInfinity>
struct FloorDivide {
  static constexpr int kInputs = 2;
  using In = Bits;
  static void fix(const Bits* in, char* out) {
    constexpr Bits kMagnitude = std::numeric_limits<Bits>::max() >> 1;
    const auto a = static_cast<Bits>(in[0] & kMagnitude);
    const auto b = static_cast<Bits>(in[1] & kMagnitude);
    const auto sign = static_cast<Bits>((in[0] ^ in[1]) & ~kMagnitude);
    if (a == kInfinity && b < kInfinity && b > 0) store<Bits>(out, sign | kInfinity);
    if (b == kInfinity && a < kInfinity && a > 0) store<Bits>(out, sign);
  }
};

template <typename Real>
struct Expm1 {
  static constexpr int kInputs = 1;
  using In = std::complex<Real>;
  static void fix(const In* in, char* out) {
    constexpr Real kInf = std::numeric_limits<Real>::infinity();
    const Real a = in->real(), b = in->imag();
    if (b == 0 && (a == 0 || a == kInf || std::isnan(a))) {
      store(out, In(a == 0 ? 0 : a, b));
    } else if (std::isinf(a) && !std::isfinite(b)) {
      store(out, a > 0 ? In(kInf, std::numeric_limits<Real>::quiet_NaN()) : In(-1, 0));
    }
  }
};

template <typename Real>
struct Tanh {
  static constexpr int kInputs = 1;
  using In = std::complex<Real>;
  static void fix(const In* in, char* out) {
    const Real a = in->real(), b = in->imag();
    if (std::isinf(a) && std::isfinite(b)) {
      store(out, In(std::copysign(Real(1), a), std::copysign(Real(0), b)));
    }
  }
};

/// The loop, block by block; operands are kept from what is written in place. An output that stands
/// still is the next input: one element a block.
template <typename Op>
void fixed_loop(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
  const auto& inner = *static_cast<const Resolution*>(data);
  constexpr int kOut = Op::kInputs;
  const intptr_t most = steps[kOut] == 0 ? 1 : kBlock;
  typename Op::In kept[kBlock * Op::kInputs];
  char* pointers[Op::kInputs + 1];
  std::copy(args, args + Op::kInputs + 1, pointers);
  for (intptr_t done = 0; done < dims[0]; done += most) {
    const intptr_t count = std::min(most, dims[0] - done);
    for (intptr_t i = 0; i < count; ++i) {
      for (int k = 0; k < Op::kInputs; ++k) {
        kept[i * Op::kInputs + k] = load<typename Op::In>(pointers[k] + i * steps[k]);
      }
    }
    char* given[Op::kInputs + 1];
    std::copy(pointers, pointers + Op::kInputs + 1, given);
    inner.loop(given, &count, steps, inner.data);
    for (intptr_t i = 0; i < count; ++i) {
      Op::fix(kept + i * Op::kInputs, pointers[kOut] + i * steps[kOut]);
    }
    for (int k = 0; k <= Op::kInputs; ++k) pointers[k] += count * steps[k];
  }
}

template <template <typename> class Op>
LoopFn of_complex(DType result) {
  if (result == DType::c64) return fixed_loop<Op<float>>;
  return result == DType::c128 ? fixed_loop<Op<double>> : nullptr;
}

}  // namespace

LoopFn standard_floor_divide(DType result) {
  switch (result) {
    case DType::f16: return fixed_loop<FloorDivide<uint16_t, 0x7c00>>;
    case DType::f32: return fixed_loop<FloorDivide<uint32_t, 0x7f800000>>;
    case DType::f64: return fixed_loop<FloorDivide<uint64_t, 0x7ff0000000000000>>;
    default: return nullptr;
  }
}

LoopFn standard_expm1(DType result) { return of_complex<Expm1>(result); }

LoopFn standard_tanh(DType result) { return of_complex<Tanh>(result); }

void use_standard_values(const KnownLoops& known, Resolution* resolution) {
  const LoopFn loop = known.standard ? known.standard(resolution->out) : nullptr;
  if (!loop) return;
  resolution->data = new Resolution(*resolution);
  resolution->loop = loop;
  resolution->standard_values = true;
}

}  // namespace ofl::ops
