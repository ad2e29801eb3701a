#include "ops/elementwise/float_functions/choice.h"

#include <cmath>
#include <mutex>
#include <optional>

#include "ops/elementwise/float_functions/agreement.h"
#include "ops/elementwise/float_functions/float_functions.h"
#include "ops/loop_cost.h"

namespace ofl::ops {

namespace {

struct Choices {
  std::mutex mutex;  // guards the choices
  std::optional<LoopChoice> of[kFloatFunctions];
};

Choices& all_choices() {
  static Choices* choices = new Choices;
  return *choices;
}

LoopFn own_loop(FloatFunction function) {
  const FloatLoops* const none = nullptr;
  static const FloatLoops* const loops =
      choose_by_isa("float_functions", none, kFloatLoops256, kFloatLoops512);
  return loops ? loops->of[static_cast<int>(function)] : nullptr;
}

Resolution with_loop(const Resolution& resolution, LoopFn loop) {
  Resolution other = resolution;
  other.loop = loop;
  other.data = nullptr;
  return other;
}

LoopChoice choose(FloatFunction function, const Resolution& numpys) {
  LoopChoice choice;
  choice.isa = isa_in_use();
  const LoopFn loop = own_loop(function);
  choice.exists = loop != nullptr;
  if (!choice.exists) return choice;
  const std::vector<float> inputs = check_points(function);
  choice.inputs = static_cast<int64_t>(inputs.size());
  choice.differences = count_differences(inputs, {numpys.loop, numpys.data}, {loop, nullptr});
  if (choice.differences > 0) return choice;
  choice.speed = measure_cost(numpys, 1) / measure_cost(with_loop(numpys, loop), 1);
  return choice;
}

}  // namespace

void use_own_loop(FloatFunction function, Resolution* resolution) {
  const bool is_float32 = resolution->in[0] == DType::f32 && resolution->out == DType::f32;
  if (function == FloatFunction::none || !is_float32) return;
  Choices& all = all_choices();
  std::lock_guard<std::mutex> lock(all.mutex);
  std::optional<LoopChoice>& choice = all.of[static_cast<int>(function)];
  if (!choice) choice = choose(function, *resolution);
  if (choice->is_own()) *resolution = with_loop(*resolution, own_loop(function));
}

std::string describe_choice(FloatFunction function) {
  Choices& all = all_choices();
  std::lock_guard<std::mutex> lock(all.mutex);
  const std::optional<LoopChoice>& choice = all.of[static_cast<int>(function)];
  if (!choice) return "";
  const std::string isa = name_of(choice->isa);
  if (!choice->exists) return "NumPy's loop: there is none of our own for " + isa;
  const std::string inputs = std::to_string(choice->inputs);
  if (choice->differences > 0) {
    return "NumPy's loop: ours for " + isa + " has other bits at " +
           std::to_string(choice->differences) + " of " + inputs + " inputs";
  }
  if (!choice->is_own()) return "NumPy's loop: ours for " + isa + " is not faster";
  std::string speed = std::to_string(std::lround(choice->speed * 10));  // in tenths
  speed.insert(speed.size() - 1, ".");
  return "our loop for " + isa + ": NumPy's bits at " + inputs + " inputs, " + speed +
         " times its speed";
}

}  // namespace ofl::ops
