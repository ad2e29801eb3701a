#include "ops/elementwise/known_loops.h"

#include <algorithm>

#include "ops/elementwise/bfloat16_loops.h"
#include "ops/elementwise/element_functions.h"
#include "ops/elementwise/standard_values.h"

namespace ofl::ops {

namespace {

using namespace element;

// Without sums and products of floats: which of two NaNs they give is the loop's business.
constexpr KnownLoops kKnownLoops[] = {
    {"less", comparison<std::less<>>},
    {"less_equal", comparison<std::less_equal<>>},
    {"equal", comparison<std::equal_to<>>},
    {"not_equal", comparison<std::not_equal_to<>>},
    {"greater", comparison<std::greater<>>},
    {"greater_equal", comparison<std::greater_equal<>>},
    {"add", of_two<Add>},
    {"subtract", of_two<Subtract>},
    {"multiply", of_two<Multiply>},
    {"floor_divide", of_two<FloorDivide>, standard_floor_divide},
    {"remainder", of_two<Remainder>},
    {"bitwise_and", of_two<And, kBool | kInteger>},
    {"bitwise_or", of_two<Or, kBool | kInteger>},
    {"bitwise_xor", of_two<Xor, kBool | kInteger>},
    {"bitwise_invert", of_one<Invert, kBool | kInteger>},
    {"negative", of_one<Negative, kInteger | kFloat>},
    {"abs", of_one<Absolute, kInteger | kFloat>},
    {"square", of_one<Square, kInteger | kFloat>},
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

}  // namespace

const KnownLoops& known_loops(const std::string& row) {
  const auto found = std::find_if(std::begin(kKnownLoops), std::end(kKnownLoops),
                                  [&](const KnownLoops& one) { return one.row == row; });
  return found == std::end(kKnownLoops) ? kNothing : *found;
}

}  // namespace ofl::ops
