#include "ops/elementwise/known_loops.h"

#include <algorithm>

#include "ops/elementwise/bfloat16_loops.h"
#include "ops/elementwise/element_functions.h"
#include "ops/elementwise/standard_values.h"

namespace ofl::ops {

namespace {

using namespace element;

constexpr KnownLoops arithmetic(const char* row, Arithmetic operation,
                                ElementFn (*element)(DType) = nullptr) {
  return {row, element, nullptr, nullptr, FloatFunction::none, operation};
}

constexpr KnownLoops function(const char* row, FloatFunction own,
                              LoopFn (*standard)(DType) = nullptr) {
  return {row, nullptr, standard, nullptr, own};
}

constexpr KnownLoops part(const char* row, Part part, ElementFn (*element)(DType) = nullptr,
                          LoopFn (*standard)(DType) = nullptr) {
  return {row, element, standard, nullptr, FloatFunction::none, Arithmetic::none, part};
}

// One element of a sum or a product of floats is not known: which of two NaNs it is, is the loop's
// business.
constexpr KnownLoops kKnownLoops[] = {
    arithmetic("less", Arithmetic::less, comparison<std::less<>>),
    arithmetic("less_equal", Arithmetic::less_equal, comparison<std::less_equal<>>),
    arithmetic("equal", Arithmetic::equal, comparison<std::equal_to<>>),
    arithmetic("not_equal", Arithmetic::not_equal, comparison<std::not_equal_to<>>),
    arithmetic("greater", Arithmetic::greater, comparison<std::greater<>>),
    arithmetic("greater_equal", Arithmetic::greater_equal, comparison<std::greater_equal<>>),
    arithmetic("add", Arithmetic::add, of_two<Add>),
    arithmetic("subtract", Arithmetic::subtract, of_two<Subtract>),
    arithmetic("multiply", Arithmetic::multiply, of_two<Multiply>),
    arithmetic("divide", Arithmetic::divide),
    part("floor_divide", Part::quotient, of_two<FloorDivide>, standard_floor_divide),
    part("remainder", Part::rest, of_two<Remainder>),
    arithmetic("maximum", Arithmetic::maximum),
    arithmetic("minimum", Arithmetic::minimum),
    arithmetic("bitwise_and", Arithmetic::bitwise_and, of_two<And, kBool | kInteger>),
    arithmetic("bitwise_or", Arithmetic::bitwise_or, of_two<Or, kBool | kInteger>),
    arithmetic("bitwise_xor", Arithmetic::bitwise_xor, of_two<Xor, kBool | kInteger>),
    arithmetic("bitwise_invert", Arithmetic::invert, of_one<Invert, kBool | kInteger>),
    arithmetic("logical_and", Arithmetic::logical_and),
    arithmetic("logical_or", Arithmetic::logical_or),
    arithmetic("logical_xor", Arithmetic::logical_xor),
    arithmetic("logical_not", Arithmetic::logical_not),
    arithmetic("negative", Arithmetic::negative, of_one<Negative, kInteger | kFloat>),
    arithmetic("abs", Arithmetic::absolute, of_one<Absolute, kInteger | kFloat>),
    arithmetic("fabs", Arithmetic::absolute),
    arithmetic("square", Arithmetic::square, of_one<Square, kInteger | kFloat>),
    arithmetic("sqrt", Arithmetic::sqrt),
    arithmetic("reciprocal", Arithmetic::reciprocal),
    arithmetic("floor", Arithmetic::floor),
    arithmetic("ceil", Arithmetic::ceil),
    arithmetic("trunc", Arithmetic::trunc),
    arithmetic("rint", Arithmetic::rint),
    function("expm1", FloatFunction::expm1, standard_expm1),
    function("tanh", FloatFunction::tanh, standard_tanh),
    function("exp", FloatFunction::exp),
    function("log", FloatFunction::log),
    function("sin", FloatFunction::sin),
    function("cos", FloatFunction::cos),
    function("exp2", FloatFunction::exp2),
    function("log2", FloatFunction::log2),
    function("pow", FloatFunction::pow),
    function("log1p", FloatFunction::log1p),
    function("atan", FloatFunction::atan),
    function("cbrt", FloatFunction::cbrt),
    function("sinh", FloatFunction::sinh),
    function("atanh", FloatFunction::atanh),
    function("log10", FloatFunction::log10),
    function("cosh", FloatFunction::cosh),
    function("tan", FloatFunction::tan),
    function("asin", FloatFunction::asin),
    function("acos", FloatFunction::acos),
    function("asinh", FloatFunction::asinh),
    function("acosh", FloatFunction::acosh),
    {"nextafter", nullptr, nullptr, next_after_loop},
    {"spacing", nullptr, nullptr, spacing_loop},
    part("modf_fraction", Part::fraction),
    part("modf_whole", Part::whole),
    part("frexp_mantissa", Part::mantissa),
    part("frexp_exponent", Part::exponent),
    part("ldexp", Part::scaled),
};
constexpr KnownLoops kNothing{};

}  // namespace

const KnownLoops& known_loops(const std::string& row) {
  const auto found = std::find_if(std::begin(kKnownLoops), std::end(kKnownLoops),
                                  [&](const KnownLoops& one) { return one.row == row; });
  return found == std::end(kKnownLoops) ? kNothing : *found;
}

}  // namespace ofl::ops
