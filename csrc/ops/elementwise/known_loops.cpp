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
    {"floor_divide", of_two<FloorDivide>, standard_floor_divide},
    {"remainder", of_two<Remainder>},
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
    {"expm1", nullptr, standard_expm1, nullptr, FloatFunction::expm1},
    {"tanh", nullptr, standard_tanh, nullptr, FloatFunction::tanh},
    {"exp", nullptr, nullptr, nullptr, FloatFunction::exp},
    {"log", nullptr, nullptr, nullptr, FloatFunction::log},
    {"sin", nullptr, nullptr, nullptr, FloatFunction::sin},
    {"cos", nullptr, nullptr, nullptr, FloatFunction::cos},
    {"exp2", nullptr, nullptr, nullptr, FloatFunction::exp2},
    {"log2", nullptr, nullptr, nullptr, FloatFunction::log2},
    {"pow", nullptr, nullptr, nullptr, FloatFunction::pow},
    {"log1p", nullptr, nullptr, nullptr, FloatFunction::log1p},
    {"atan", nullptr, nullptr, nullptr, FloatFunction::atan},
    {"cbrt", nullptr, nullptr, nullptr, FloatFunction::cbrt},
    {"sinh", nullptr, nullptr, nullptr, FloatFunction::sinh},
    {"atanh", nullptr, nullptr, nullptr, FloatFunction::atanh},
    {"log10", nullptr, nullptr, nullptr, FloatFunction::log10},
    {"cosh", nullptr, nullptr, nullptr, FloatFunction::cosh},
    {"tan", nullptr, nullptr, nullptr, FloatFunction::tan},
    {"asin", nullptr, nullptr, nullptr, FloatFunction::asin},
    {"acos", nullptr, nullptr, nullptr, FloatFunction::acos},
    {"asinh", nullptr, nullptr, nullptr, FloatFunction::asinh},
    {"acosh", nullptr, nullptr, nullptr, FloatFunction::acosh},
    {"nextafter", nullptr, nullptr, next_after_loop},
    {"spacing", nullptr, nullptr, spacing_loop},
};
constexpr KnownLoops kNothing{};

struct KnownPart {
  const char* row;
  Part part;
};
constexpr KnownPart part(const char* row, Part part) { return {row, part}; }

constexpr KnownPart kKnownParts[] = {
    part("modf_fraction", Part::fraction),
    part("modf_whole", Part::whole),
    part("frexp_mantissa", Part::mantissa),
    part("frexp_exponent", Part::exponent),
    part("ldexp", Part::scaled),
    part("floor_divide", Part::quotient),
    part("remainder", Part::rest),
};

}  // namespace

const KnownLoops& known_loops(const std::string& row) {
  const auto found = std::find_if(std::begin(kKnownLoops), std::end(kKnownLoops),
                                  [&](const KnownLoops& one) { return one.row == row; });
  return found == std::end(kKnownLoops) ? kNothing : *found;
}

Part known_part(const std::string& row) {
  const auto found = std::find_if(std::begin(kKnownParts), std::end(kKnownParts),
                                  [&](const KnownPart& one) { return one.row == row; });
  return found == std::end(kKnownParts) ? Part::none : found->part;
}

}  // namespace ofl::ops
