// Operations on one element whose result integers or IEEE 754 define, whichever loop computes it. A
// call of NumPy's loop would take longer than they do: several of them ask for the floating-point
// flags, and clear them.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>

#include "ops/op_def.h"

namespace ofl::ops::element {

/// Any byte but 0 is true.
template <typename T>
T load(const char* from) {
  if constexpr (std::is_same_v<T, bool>) {
    return *from != 0;
  } else {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
}

template <int inputs, typename Function, typename T>
void apply(char* const* in, char* out) {
  const auto compute = [&] {
    if constexpr (inputs == 1) {
      return Function()(load<T>(in[0]));
    } else {
      return Function()(load<T>(in[0]), load<T>(in[1]));
    }
  };
  const auto result = compute();
  std::memcpy(out, &result, sizeof result);
}

/// Of integers, which wrap around.
template <typename Operation>
struct Wrapping {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(Operation()(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  }
};
using Add = Wrapping<std::plus<>>;
using Subtract = Wrapping<std::minus<>>;
using Multiply = Wrapping<std::multiplies<>>;

/// Rounded down; 0 where NumPy warns of a division by 0, and the only quotient too large wraps.
struct FloorDivide {
  template <typename T>
  T operator()(T a, T b) const {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return Subtract()(T{0}, a);
    }
    const T quotient = static_cast<T>(a / b);
    const bool is_above = (a < 0) != (b < 0) && quotient * b != a;
    return static_cast<T>(quotient - is_above);
  }
};

/// With the sign of the divisor.
struct Remainder {
  template <typename T>
  T operator()(T a, T b) const {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    const T rest = static_cast<T>(a % b);
    return static_cast<T>(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
  }
};

template <typename Operation>
struct Bitwise {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(Operation()(a, b));
  }
};
using And = Bitwise<std::bit_and<>>;
using Or = Bitwise<std::bit_or<>>;
using Xor = Bitwise<std::bit_xor<>>;

struct Invert {
  template <typename T>
  T operator()(T a) const {
    if constexpr (std::is_same_v<T, bool>) {
      return !a;
    } else {
      return static_cast<T>(~a);
    }
  }
};

/// Of floats the sign bit, also that of NaNs.
struct Negative {
  template <typename T>
  T operator()(T a) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::copysign(a, std::signbit(a) ? T{1} : T{-1});
    } else {
      return Subtract()(T{0}, a);
    }
  }
};

struct Absolute {
  template <typename T>
  T operator()(T a) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fabs(a);
    } else {
      return a < 0 ? Negative()(a) : a;
    }
  }
};

struct Square {
  template <typename T>
  T operator()(T a) const {
    if constexpr (std::is_floating_point_v<T>) {
      return a * a;
    } else {
      return Multiply()(a, a);
    }
  }
};

// The kinds of dtypes that a function is defined for.
constexpr int kBool = 1, kInteger = 2, kFloat = 4;

template <typename T>
constexpr int kind_of() {
  if (std::is_same_v<T, bool>) return kBool;
  if (std::is_integral_v<T>) return kInteger;
  return std::is_floating_point_v<T> ? kFloat : 0;
}

template <int inputs, typename Function, int kinds>
ElementFn of_dtype(DType dtype) {
  return visit_dtype(dtype, [](auto zero) -> ElementFn {
    if constexpr ((kind_of<decltype(zero)>() & kinds) != 0) {
      return apply<inputs, Function, decltype(zero)>;
    } else {
      return nullptr;
    }
  });
}

template <typename Function, int kinds = kInteger>
ElementFn of_two(DType dtype) {
  return of_dtype<2, Function, kinds>(dtype);
}

template <typename Function, int kinds>
ElementFn of_one(DType dtype) {
  return of_dtype<1, Function, kinds>(dtype);
}

template <typename Function>
ElementFn comparison(DType dtype) {
  return of_two<Function, kBool | kInteger | kFloat>(dtype);
}

}  // namespace ofl::ops::element
