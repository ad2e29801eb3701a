// Costs of calls of the CUDA driver, and a captured graph of small kernels beside plain launches.
// Needs a driver, and no header or library of CUDA.
//
//   driver_costs LIBRARY IMAGE     LIBRARY: libcuda.so.1, or its path
//                                  IMAGE: a file with a kernel "increment(unsigned* p)"
//
// Writes a line for each question: name, then nanoseconds of a call in each of some samples; or
// name, "failed", what failed.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace {

using Result = int;
using Handle = void*;
using Pointer = uint64_t;

/// Thrown with the name of the call and its result.
struct Failure {
  std::string what;
};

void check(Result result, const char* name) {
  if (result != 0) throw Failure{std::string(name) + " said " + std::to_string(result)};
}

// X(name, version of the interface, parameters)
#define FUNCTIONS(X)                                                                               \
  X(Init, 2000, (unsigned))                                                                        \
  X(DevicePrimaryCtxRetain, 7000, (Handle*, int))                                                  \
  X(CtxSetCurrent, 4000, (Handle))                                                                 \
  X(CtxGetCurrent, 4000, (Handle*))                                                                \
  X(MemGetInfo, 3020, (size_t*, size_t*))                                                          \
  X(MemAlloc, 3020, (Pointer*, size_t))                                                            \
  X(MemFree, 3020, (Pointer))                                                                      \
  X(StreamCreate, 2000, (Handle*, unsigned))                                                       \
  X(StreamSynchronize, 2000, (Handle))                                                             \
  X(StreamWaitEvent, 3020, (Handle, Handle, unsigned))                                             \
  X(EventCreate, 2000, (Handle*, unsigned))                                                        \
  X(EventRecord, 2000, (Handle, Handle))                                                           \
  X(EventQuery, 2000, (Handle))                                                                    \
  X(MemcpyDtoHAsync, 3020, (void*, Pointer, size_t, Handle))                                       \
  X(MemsetD8Async, 3020, (Pointer, unsigned char, size_t, Handle))                                 \
  X(ModuleLoadData, 2000, (Handle*, const void*))                                                  \
  X(ModuleGetFunction, 2000, (Handle*, Handle, const char*))                                       \
  X(LaunchKernel, 4000,                                                                            \
    (Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**, \
     void**))                                                                                      \
  X(StreamBeginCapture, 10010, (Handle, int))                                                      \
  X(StreamEndCapture, 10000, (Handle, Handle*))                                                    \
  X(GraphInstantiateWithFlags, 11040, (Handle*, Handle, unsigned long long))                       \
  X(GraphLaunch, 10000, (Handle, Handle))

#define FIELD(name, version, parameters) Result(*name) parameters = nullptr;
struct Driver {
  FUNCTIONS(FIELD)
} cu;

using GetProcAddress = Result (*)(const char*, void**, int, uint64_t, int*);

void open(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (!library) throw Failure{dlerror()};
  const auto find = reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
  if (!find) throw Failure{"the driver is too old, it lacks cuGetProcAddress_v2"};
#define FIND(name, version, parameters)                                                        \
  if (find("cu" #name, reinterpret_cast<void**>(&cu.name), version, 0, nullptr) || !cu.name) { \
    throw Failure{"the driver lacks cu" #name};                                                \
  }
  FUNCTIONS(FIND)
}

#define CALL(name, ...) check(cu.name(__VA_ARGS__), "cu" #name)

constexpr int kSamples = 15;
constexpr unsigned kNonBlocking = 1, kDisableTiming = 2;

double nanoseconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

/// Times `call`, so many of them in a sample; `after` is not timed.
void measure(
    const char* name, int calls, const std::function<void()>& call,
    const std::function<void()>& after = [] {}) try {
  std::vector<double> samples;
  for (int sample = -1; sample < kSamples; ++sample) {  // the first one is not counted
    const double taken = nanoseconds([&] {
      for (int i = 0; i < calls; ++i) call();
    });
    after();
    if (sample >= 0) samples.push_back(taken / calls);
  }
  std::printf("%s", name);
  for (const double sample : samples) std::printf("\t%.1f", sample);
  std::printf("\n");
  std::fflush(stdout);
} catch (const Failure& failure) {
  std::printf("%s\tfailed\t%s\n", name, failure.what.c_str());
  std::fflush(stdout);
}

/// The objects of the questions.
struct Machine {
  Handle stream = nullptr, event = nullptr, kernel = nullptr;
  Pointer memory = 0;
  size_t free = 0, total = 0;

  explicit Machine(const char* image_path) {
    Handle context = nullptr, module = nullptr;
    CALL(Init, 0);
    CALL(DevicePrimaryCtxRetain, &context, 0);
    CALL(CtxSetCurrent, context);
    CALL(StreamCreate, &stream, kNonBlocking);
    CALL(EventCreate, &event, kDisableTiming);
    CALL(MemAlloc, &memory, 256);
    std::ifstream file(image_path, std::ios::binary);
    std::string image{std::istreambuf_iterator<char>(file), {}};
    CALL(ModuleLoadData, &module, image.c_str());
    CALL(ModuleGetFunction, &kernel, module, "increment");
  }

  void launch() {
    void* parameters[] = {&memory};
    CALL(LaunchKernel, kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
  }
  void synchronize() { CALL(StreamSynchronize, stream); }
  void fill() { CALL(MemsetD8Async, memory, 0, 4, stream); }
  unsigned value() {
    unsigned read = 0;
    CALL(MemcpyDtoHAsync, &read, memory, sizeof read, stream);
    synchronize();
    return read;
  }
};

void calls(Machine& m) {
  const auto synchronize = [&] { m.synchronize(); };
  Handle current = nullptr;
  CALL(EventRecord, m.event, m.stream);
  m.synchronize();
  measure("cuCtxGetCurrent", 20000, [&] { CALL(CtxGetCurrent, &current); });
  measure("cuEventQuery", 5000, [&] { CALL(EventQuery, m.event); });
  measure("cuMemGetInfo", 300, [&] { CALL(MemGetInfo, &m.free, &m.total); });
  measure("cuEventRecord", 500, [&] { CALL(EventRecord, m.event, m.stream); }, synchronize);
  measure(
      "cuStreamWaitEvent", 500, [&] { CALL(StreamWaitEvent, m.stream, m.event, 0); }, synchronize);
  measure("cuLaunchKernel", 500, [&] { m.launch(); }, synchronize);
  measure("cuLaunchKernel and cuStreamSynchronize", 100, [&] {
    m.launch();
    m.synchronize();
  });
  measure("cuMemAlloc and cuMemFree of 2 MiB", 20, [] {
    Pointer block = 0;
    CALL(MemAlloc, &block, size_t{2} << 20);
    CALL(MemFree, block);
  });
}

/// Times are those of 100 kernels, each of which needs the one before.
void graph(Machine& m) {
  constexpr int kKernels = 100;
  Handle captured = nullptr, executable = nullptr;
  const auto run = [&] {
    for (int i = 0; i < kKernels; ++i) m.launch();
  };
  measure("100 kernels launched, and waited for", 5, [&] { run(), m.synchronize(); });
  CALL(StreamBeginCapture, m.stream, 0);
  run();
  CALL(StreamEndCapture, m.stream, &captured);
  CALL(GraphInstantiateWithFlags, &executable, captured, 0);
  m.fill();
  CALL(GraphLaunch, executable, m.stream);
  if (m.value() != kKernels) throw Failure{"the graph computed " + std::to_string(m.value())};
  measure(
      "cuGraphLaunch of 100 kernels", 5, [&] { CALL(GraphLaunch, executable, m.stream); },
      [&] { m.synchronize(); });
  measure("a graph of 100 kernels replayed, and waited for", 5, [&] {
    CALL(GraphLaunch, executable, m.stream);
    m.synchronize();
  });
}

int attempt(const char* name, const std::function<void()>& part) try {
  part();
  return 0;
} catch (const Failure& failure) {
  std::printf("%s\tfailed\t%s\n", name, failure.what.c_str());
  return 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: driver_costs LIBRARY IMAGE\n");
    return 2;
  }
  return attempt("the driver", [&] {
    open(arguments[1]);
    Machine machine(arguments[2]);
    attempt("calls", [&] { calls(machine); });
    attempt("graph", [&] { graph(machine); });
  });
}
