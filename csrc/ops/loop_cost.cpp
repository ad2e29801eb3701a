#include "ops/loop_cost.h"

#include <algorithm>
#include <chrono>

#include "ops/loops.h"

namespace ofl::ops {

namespace {

constexpr intptr_t kElements = 1024;
/// Large arrays come and go through memory: a float32 addition, the unit, moves twelve bytes.
constexpr double kByteCost = 1.0 / 12;
constexpr int kRuns = 3;  // the best counts: the others were disturbed

void fill_sample(DType dtype, double sample, char* to) {
  if (is_integer(dtype)) sample = 1.0;
  cast_function(DType::f64, dtype)(reinterpret_cast<const char*>(&sample), 0, to,
                                   static_cast<int64_t>(size_of(dtype)), kElements);
}

/// At least: what an element costs to come and go.
double memory_cost(const Resolution& resolution, int inputs) {
  size_t bytes = size_of(resolution.out);
  for (int k = 0; k < inputs; ++k) bytes += size_of(resolution.in[k]);
  return kByteCost * static_cast<double>(bytes);
}

}  // namespace

bool is_memory_bound(const Resolution& resolution, int inputs) {
  return resolution.cost <= memory_cost(resolution, inputs);
}

double measure_cost(const Resolution& resolution, int inputs, double sample) {
  char* data[kMaxOperands];
  intptr_t steps[kMaxOperands];
  for (int k = 0; k <= inputs; ++k) {
    const DType dtype = k < inputs ? resolution.in[k] : resolution.out;
    data[k] = thread_scratch().bytes + k * kBlockBytes;
    steps[k] = static_cast<intptr_t>(size_of(dtype));
    if (k < inputs) fill_sample(dtype, sample, data[k]);
    if (inputs == 3 && k > 0 && k < inputs) steps[k] = 0;  // of clip: bounds are numbers, as a rule
  }
  double best = 0;
  for (int i = 0; i <= kRuns; ++i) {  // the first one warms up
    char* pointers[kMaxOperands];
    std::copy_n(data, inputs + 1, pointers);
    const intptr_t n = kElements;
    const auto begin = std::chrono::steady_clock::now();
    resolution.loop(pointers, &n, steps, resolution.data);
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    if (i == 1 || (i > 1 && taken.count() < best)) best = taken.count();
  }
  return std::max(best / kElements / kAdditionNs, memory_cost(resolution, inputs));
}

}  // namespace ofl::ops
