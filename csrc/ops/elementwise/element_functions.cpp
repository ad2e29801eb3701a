#include "ops/elementwise/element_functions.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>

namespace ofl::ops {

namespace {

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

template <typename Function, typename T>
void unary(char* const* in, char* out) {
  const auto result = Function()(load<T>(in[0]));
  std::memcpy(out, &result, sizeof result);
}

template <typename Function, typename T>
void binary(char* const* in, char* out) {
  const auto result = Function()(load<T>(in[0]), load<T>(in[1]));
  std::memcpy(out, &result, sizeof result);
}

/// Integers wrap around.
template <typename T>
T wrapped(uint64_t value) {
  return static_cast<T>(value);
}

struct Add {
  template <typename T>
  T operator()(T a, T b) const {
    return wrapped<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
};

struct Subtract {
  template <typename T>
  T operator()(T a, T b) const {
    return wrapped<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  }
};

struct Multiply {
  template <typename T>
  T operator()(T a, T b) const {
    return wrapped<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
};

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

struct And {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};

struct Or {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};

struct Xor {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};

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

template <template <typename, typename> class Call, typename Function, int kinds>
ElementFn of_dtype(DType dtype) {
  if constexpr ((kinds & kBool) != 0) {
    if (dtype == DType::b1) return Call<Function, bool>::function;
  }
  if constexpr ((kinds & kInteger) != 0) {
    switch (dtype) {
      case DType::i8: return Call<Function, int8_t>::function;
      case DType::i16: return Call<Function, int16_t>::function;
      case DType::i32: return Call<Function, int32_t>::function;
      case DType::i64: return Call<Function, int64_t>::function;
      case DType::u8: return Call<Function, uint8_t>::function;
      case DType::u16: return Call<Function, uint16_t>::function;
      case DType::u32: return Call<Function, uint32_t>::function;
      case DType::u64: return Call<Function, uint64_t>::function;
      default: break;
    }
  }
  if constexpr ((kinds & kFloat) != 0) {
    if (dtype == DType::f32) return Call<Function, float>::function;
    if (dtype == DType::f64) return Call<Function, double>::function;
  }
  return nullptr;
}

template <typename Function, typename T>
struct Unary {
  static constexpr ElementFn function = unary<Function, T>;
};

template <typename Function, typename T>
struct Binary {
  static constexpr ElementFn function = binary<Function, T>;
};

struct Row {
  const char* ufunc;
  int inputs;
  bool compares;  // gives booleans
  ElementFn (*of)(DType);
};

template <typename Function>
constexpr Row comparison(const char* ufunc) {
  return {ufunc, 2, true, of_dtype<Binary, Function, kBool | kInteger | kFloat>};
}

template <typename Function, int kinds = kInteger>
constexpr Row of_two(const char* ufunc) {
  return {ufunc, 2, false, of_dtype<Binary, Function, kinds>};
}

template <typename Function, int kinds>
constexpr Row of_one(const char* ufunc) {
  return {ufunc, 1, false, of_dtype<Unary, Function, kinds>};
}

// Without sums and products of floats: which of two NaNs they give is the loop's business.
constexpr Row kRows[] = {
    comparison<std::less<>>("less"),
    comparison<std::less_equal<>>("less_equal"),
    comparison<std::equal_to<>>("equal"),
    comparison<std::not_equal_to<>>("not_equal"),
    comparison<std::greater<>>("greater"),
    comparison<std::greater_equal<>>("greater_equal"),
    of_two<Add>("add"),
    of_two<Subtract>("subtract"),
    of_two<Multiply>("multiply"),
    of_two<FloorDivide>("floor_divide"),
    of_two<Remainder>("remainder"),
    of_two<And, kBool | kInteger>("bitwise_and"),
    of_two<Or, kBool | kInteger>("bitwise_or"),
    of_two<Xor, kBool | kInteger>("bitwise_xor"),
    of_one<Invert, kBool | kInteger>("invert"),
    of_one<Negative, kInteger | kFloat>("negative"),
    of_one<Absolute, kInteger | kFloat>("absolute"),
    of_one<Square, kInteger | kFloat>("square"),
};

}  // namespace

ElementFn element_function(const std::string& ufunc, const Resolution& resolution, int inputs) {
  const DType dtype = resolution.in[0];
  for (const Row& row : kRows) {
    if (row.ufunc != ufunc || row.inputs != inputs) continue;
    const bool is_of_one_dtype = inputs == 1 || resolution.in[1] == dtype;
    const bool gives_it = resolution.out == (row.compares ? DType::b1 : dtype);
    return is_of_one_dtype && gives_it ? row.of(dtype) : nullptr;
  }
  return nullptr;
}

}  // namespace ofl::ops
