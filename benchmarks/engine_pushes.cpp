// Functions a second that the machine takes from C++: no-ops on the cpu's stream of functions that
// compute, pushed by one thread and run by a pool of as many threads as there are cores. The same
// by Taskflow where the compiler finds it.
//
//   engine_pushes COUNT SAMPLES
//
// Writes a line for each question: name, then nanoseconds of a function in each sample.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "ep/cpu/cpu_device.h"
#include "vm/virtual_machine.h"

#if __has_include(<taskflow/taskflow.hpp>) && __cplusplus >= 202002L
#define HAS_TASKFLOW 1
#include <taskflow/taskflow.hpp>
#endif

namespace ofl {
namespace {

struct NoopBody {};

const vm::InstructionType kNoopType = {
    "no-op",
    [](void*, vm::LaunchContext&) {},
    [](void*, vm::Stream&, uint64_t) {},
    [](void*, const vm::FailurePtr&) {},
    [](const void*, vm::Description*) {},
};

/// Each function writes one of the variables, in turn; with none, nothing.
void push_all(vm::VirtualMachine& machine, std::vector<vm::Dependence>& variables, int count) {
  vm::Instruction header;
  header.type = &kNoopType;
  header.name = "no-op";
  header.stream = &machine.stream(Device{}, vm::StreamType::engine);
  const size_t size = variables.size();
  for (int i = 0; i < count; ++i) {
    const vm::Operand operand{size ? &variables[i % size] : nullptr, vm::Access::write};
    machine.issue(header, &operand, size ? 1 : 0, NoopBody{});
  }
  machine.drain(std::nullopt);
}

struct Question {
  const char* name;
  std::function<void(int count)> run;
  std::vector<double> samples;
};

#ifdef HAS_TASKFLOW
void add_taskflow(std::vector<Question>& questions, tf::Executor& executor) {
  questions.push_back({"Taskflow, no variables",
                       [&](int count) {
                         for (int i = 0; i < count; ++i) executor.silent_async([] {});
                         executor.wait_for_all();
                       },
                       {}});
  questions.push_back({"Taskflow, one chain",
                       [&](int count) {
                         tf::AsyncTask last = executor.silent_dependent_async([] {});
                         for (int i = 1; i < count; ++i)
                           last = executor.silent_dependent_async([] {}, last);
                         executor.wait_for_all();
                       },
                       {}});
}
#endif

/// The questions take turns, sample by sample; the first turn is not counted.
void measure(std::vector<Question>& questions, int count, int samples) {
  for (int sample = -1; sample < samples; ++sample) {
    for (Question& question : questions) {
      const int64_t begin = now_ns();
      question.run(count);
      const double each = static_cast<double>(now_ns() - begin) / count;
      if (sample >= 0) question.samples.push_back(each);
    }
  }
}

void run(int count, int samples) {
  const unsigned threads = std::thread::hardware_concurrency();
  const std::unique_ptr<ep::Device> cpu =
      ep::backend_of(ep::register_backend(ep::cpu_backend())).make(Device{});
  vm::VirtualMachine machine([&](Device) -> ep::Device& { return *cpu; });
  machine.options().pool_threads.store(static_cast<int>(threads));
  std::vector<vm::Dependence> none, many(64), one(1);
  std::vector<Question> questions = {
      {"64 variables", [&](int count) { push_all(machine, many, count); }, {}},
      {"no variables", [&](int count) { push_all(machine, none, count); }, {}},
      {"one chain", [&](int count) { push_all(machine, one, count); }, {}},
  };
#ifdef HAS_TASKFLOW
  tf::Executor executor(threads);
  add_taskflow(questions, executor);
#endif
  measure(questions, count, samples);
  for (const Question& question : questions) {
    std::printf("%s", question.name);
    for (const double each : question.samples) std::printf("\t%.4g", each);
    std::printf("\n");
  }
}

}  // namespace
}  // namespace ofl

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  ofl::run(std::atoi(argv[1]), std::atoi(argv[2]));
}
