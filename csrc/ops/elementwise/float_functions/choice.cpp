#include "ops/elementwise/float_functions/choice.h"

#include <cmath>
#include <mutex>
#include <optional>

#include "ops/elementwise/float_functions/agreement.h"
#include "ops/loop_cost.h"

namespace ofl::ops {

namespace {

struct Choices {
  std::mutex mutex;  // guards the choices
  std::optional<LoopChoice> float32[kFloatFunctions], float64[kFloatFunctions];

  std::optional<LoopChoice>& of(FloatFunction function, DType dtype) {
    return (dtype == DType::f32 ? float32 : float64)[static_cast<int>(function)];
  }
};

Choices& all_choices() {
  static Choices* choices = new Choices;
  return *choices;
}

LoopFn own_loop(FloatFunction function, DType dtype) {
  const FloatLoops* const none = nullptr;
  static const FloatLoops* const loops =
      choose_by_isa("float_functions", none, kFloatLoops256, kFloatLoops512);
  if (!loops) return nullptr;
  return (dtype == DType::f32 ? loops->float32 : loops->float64)[static_cast<int>(function)];
}

Resolution with_loop(const Resolution& resolution, LoopFn loop, LoopChoice* choice) {
  Resolution other = resolution;
  other.loop = loop;
  other.data = &choice->numpys;
  return other;
}

template <typename T>
void compare(FloatFunction function, LoopFn loop, LoopChoice* choice) {
  const CheckInputs<T> inputs = check_inputs<T>(function);
  choice->inputs = inputs.count();
  choice->differences = count_differences(inputs, choice->numpys, {loop, &choice->numpys});
}

LoopChoice choose(FloatFunction function, const Resolution& numpys) {
  LoopChoice choice;
  choice.numpys = {numpys.loop, numpys.data};
  choice.isa = isa_in_use();
  const LoopFn loop = own_loop(function, numpys.out);
  choice.exists = loop != nullptr;
  if (!choice.exists) return choice;
  const auto compare_all = numpys.out == DType::f32 ? compare<float> : compare<double>;
  compare_all(function, loop, &choice);
  if (choice.differences > 0) return choice;
  const int inputs = inputs_of(function);
  const double sample = sample_of(function);
  choice.speed = measure_cost(numpys, inputs, sample) /
                 measure_cost(with_loop(numpys, loop, &choice), inputs, sample);
  return choice;
}

}  // namespace

void use_own_loop(FloatFunction function, Resolution* resolution) {
  const DType dtype = resolution->out;
  if (!has_own_loop(function, dtype)) return;
  for (int k = 0; k < inputs_of(function); ++k) {
    if (resolution->in[k] != dtype) return;
  }
  Choices& all = all_choices();
  std::lock_guard<std::mutex> lock(all.mutex);
  std::optional<LoopChoice>& choice = all.of(function, dtype);
  if (!choice) choice = choose(function, *resolution);
  if (choice->is_own()) {
    *resolution = with_loop(*resolution, own_loop(function, dtype), &*choice);
  }
}

std::string describe_choice(FloatFunction function, DType dtype) {
  if (!has_own_loop(function, dtype)) return "";
  Choices& all = all_choices();
  std::lock_guard<std::mutex> lock(all.mutex);
  const std::optional<LoopChoice>& choice = all.of(function, dtype);
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
