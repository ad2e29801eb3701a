// The float32 and float64 loops of our own, and the check before they are used, for
// tests/support/float_loops.py. `wide` is the bits of a vector, `function` a
// FloatFunction, `size` the bytes of an element: 4 or 8.
#include "ops/elementwise/float_functions/float_functions.h"

#include <cmath>

#include "ops/elementwise/float_functions/agreement.h"

using namespace ofl::ops;
using ofl::DType;

namespace {

LoopFn loop_of(int wide, int function, int size) {
  const FloatLoops* loops = wide == 512 ? kFloatLoops512 : kFloatLoops256;
  if (!loops) return nullptr;
  return (size == sizeof(float) ? loops->float32 : loops->float64)[function];
}

/// The C library's function, as NumPy's loop is where it has none of its own.
template <typename T, T (*function)(T)>
void library_loop(char** args, const intptr_t* dims, const intptr_t* steps, void*) {
  for (intptr_t i = 0; i < dims[0]; ++i) {
    const auto& in = *reinterpret_cast<const T*>(args[0] + i * steps[0]);
    *reinterpret_cast<T*>(args[1] + i * steps[1]) = function(in);
  }
}

/// With NumPy's faster ways for one exponent.
template <typename T>
void pow_loop(char** args, const intptr_t* dims, const intptr_t* steps, void*) {
  for (intptr_t i = 0; i < dims[0]; ++i) {
    const T x = *reinterpret_cast<const T*>(args[0] + i * steps[0]);
    const T y = *reinterpret_cast<const T*>(args[1] + i * steps[1]);
    T power = std::pow(x, y);
    if (steps[1] == 0 && y == T(-1)) power = 1 / x;
    if (steps[1] == 0 && y == T(0.5)) power = std::sqrt(x);
    if (steps[1] == 0 && y == T(1)) power = x;
    if (steps[1] == 0 && y == T(2)) power = x * x;
    *reinterpret_cast<T*>(args[2] + i * steps[2]) = power;
  }
}

template <typename T>
CalledLoop* library_of(FloatFunction function) {
  static CalledLoop exp{library_loop<T, std::exp>, nullptr};
  static CalledLoop log{library_loop<T, std::log>, nullptr};
  static CalledLoop sin{library_loop<T, std::sin>, nullptr};
  static CalledLoop cos{library_loop<T, std::cos>, nullptr};
  static CalledLoop exp2{library_loop<T, std::exp2>, nullptr};
  static CalledLoop log2{library_loop<T, std::log2>, nullptr};
  static CalledLoop pow{pow_loop<T>, nullptr};
  static CalledLoop expm1{library_loop<T, std::expm1>, nullptr};
  static CalledLoop log1p{library_loop<T, std::log1p>, nullptr};
  static CalledLoop atan{library_loop<T, std::atan>, nullptr};
  static CalledLoop cbrt{library_loop<T, std::cbrt>, nullptr};
  static CalledLoop sinh{library_loop<T, std::sinh>, nullptr};
  static CalledLoop log10{library_loop<T, std::log10>, nullptr};
  static CalledLoop atanh{library_loop<T, std::atanh>, nullptr};
  static CalledLoop cosh{library_loop<T, std::cosh>, nullptr};
  static CalledLoop tan{library_loop<T, std::tan>, nullptr};
  static CalledLoop asin{library_loop<T, std::asin>, nullptr};
  static CalledLoop acos{library_loop<T, std::acos>, nullptr};
  static CalledLoop asinh{library_loop<T, std::asinh>, nullptr};
  static CalledLoop acosh{library_loop<T, std::acosh>, nullptr};
  switch (function) {
    case FloatFunction::sin: return &sin;
    case FloatFunction::cos: return &cos;
    case FloatFunction::exp2: return &exp2;
    case FloatFunction::log2: return &log2;
    case FloatFunction::pow: return &pow;
    case FloatFunction::log: return &log;
    case FloatFunction::expm1: return &expm1;
    case FloatFunction::log1p: return &log1p;
    case FloatFunction::atan: return &atan;
    case FloatFunction::cbrt: return &cbrt;
    case FloatFunction::sinh: return &sinh;
    case FloatFunction::log10: return &log10;
    case FloatFunction::atanh: return &atanh;
    case FloatFunction::cosh: return &cosh;
    case FloatFunction::tan: return &tan;
    case FloatFunction::asin: return &asin;
    case FloatFunction::acos: return &acos;
    case FloatFunction::asinh: return &asinh;
    case FloatFunction::acosh: return &acosh;
    default: return &exp;  // of tanh, too, which does not ask for it
  }
}

CalledLoop* library_of(int function, int size) {
  const auto which = static_cast<FloatFunction>(function);
  return size == sizeof(float) ? library_of<float>(which) : library_of<double>(which);
}

/// A reference whose results the loops have, but where an input is `odd`: there the last bit moves.
struct Odd {
  CalledLoop called;
  double odd;
  int inputs;
};

template <typename T>
void odd_loop(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
  const auto& given = *static_cast<const Odd*>(data);
  given.called.loop(args, dims, steps, given.called.data);
  for (intptr_t i = 0; i < dims[0]; ++i) {
    if (*reinterpret_cast<const T*>(args[0] + i * steps[0]) == static_cast<T>(given.odd)) {
      args[given.inputs][i * steps[given.inputs]] ^= 1;
    }
  }
}

/// The loop, but with other last bits where elements are not beside each other.
template <typename T>
void gap_loop(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
  const auto& given = *static_cast<const Odd*>(data);
  given.called.loop(args, dims, steps, given.called.data);
  if (steps[0] != sizeof(T)) args[given.inputs][0] ^= 1;
}

template <typename T>
int64_t count(int function, CalledLoop reference, CalledLoop own) {
  return count_differences(check_inputs<T>(static_cast<FloatFunction>(function)), reference, own);
}

int64_t count(int function, int size, CalledLoop reference, CalledLoop own) {
  return size == sizeof(float) ? count<float>(function, reference, own)
                               : count<double>(function, reference, own);
}

CalledLoop called(int wide, int function, int size) {
  return {loop_of(wide, function, size), library_of(function, size)};
}

template <typename T>
int64_t points_of(int function, void* to, int64_t most) {
  const std::vector<T> found = check_inputs<T>(static_cast<FloatFunction>(function)).first;
  const auto all = static_cast<int64_t>(found.size());
  for (int64_t i = 0; i < all && i < most; ++i) static_cast<T*>(to)[i] = found[i];
  return all;
}

}  // namespace

extern "C" {

void* loop_address(int wide, int function, int size) {
  return reinterpret_cast<void*>(loop_of(wide, function, size));
}

bool is_told(int function, int size) {
  return has_own_loop(static_cast<FloatFunction>(function), size == 4 ? DType::f32 : DType::f64);
}

/// A function of one.
void call(int wide, int function, int size, char* in, intptr_t in_step, char* out,
          intptr_t out_step, intptr_t n) {
  char* args[] = {in, out};
  const intptr_t steps[] = {in_step, out_step};
  const CalledLoop own = called(wide, function, size);
  own.loop(args, &n, steps, own.data);
}

int64_t differences(int wide, int function, int size, void* reference) {
  const CalledLoop other{reinterpret_cast<LoopFn>(reference), library_of(function, size)};
  return count(function, size, other, called(wide, function, size));
}

int64_t differences_from_library(int wide, int function, int size) {
  return count(function, size, *library_of(function, size), called(wide, function, size));
}

int64_t differences_from_odd(int wide, int function, int size, double odd) {
  const CalledLoop own = called(wide, function, size);
  Odd given{own, odd, inputs_of(static_cast<FloatFunction>(function))};
  return count(function, size, {size == 4 ? odd_loop<float> : odd_loop<double>, &given}, own);
}

int64_t differences_in_gaps(int wide, int function, int size) {
  const CalledLoop own = called(wide, function, size);
  Odd given{own, 0, inputs_of(static_cast<FloatFunction>(function))};
  return count(function, size, {size == 4 ? gap_loop<float> : gap_loop<double>, &given}, own);
}

/// Of pairs, the first ones.
int64_t points(int function, int size, void* to, int64_t most) {
  return size == sizeof(float) ? points_of<float>(function, to, most)
                               : points_of<double>(function, to, most);
}
}
