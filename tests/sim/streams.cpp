// A program on the simulated driver, for the sanitizers: streams LIBCUDA IMAGE MODE. One stream
// fills, another one sums; by the mode the wait between them, or that of the host, is missing, or a
// kernel writes where it must not.
#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace {

using Handle = void*;
using Pointer = unsigned long long;
using GetProcAddress = int (*)(const char*, void**, int, uint64_t, int*);

constexpr int kCount = 1000;
constexpr int kVersion = 12000;
GetProcAddress get_proc_address;

void check(int code, const char* what) {
  if (code == 0) return;
  std::fprintf(stderr, "%s: %d\n", what, code);
  std::exit(1);
}

template <typename... Args>
void call(const char* name, Args... args) {
  void* function = nullptr;
  check(get_proc_address(name, &function, kVersion, 0, nullptr), name);
  check(reinterpret_cast<int (*)(Args...)>(function)(args...), name);
}

std::vector<char> read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void launch(Handle kernel, unsigned blocks, Handle stream, void** arguments) {
  void** const no_extra = nullptr;
  call("cuLaunchKernel", kernel, blocks, 1u, 1u, 256u, 1u, 1u, 0u, stream, arguments, no_extra);
}

/// Holds up its stream for longer than the program needs to go on.
void nap(void*) { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }

}  // namespace

int main(int, char** argv) {
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  if (!library) check(1, dlerror());
  get_proc_address = reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
  const std::vector<char> image = read(argv[2]);
  const std::string mode = argv[3];

  Handle context, first, second, event, module, fill, total;
  call("cuInit", 0u);
  call("cuDevicePrimaryCtxRetain", &context, 0);
  call("cuCtxSetCurrent", context);
  call("cuStreamCreate", &first, 1u);
  call("cuStreamCreate", &second, 1u);
  call("cuEventCreate", &event, 2u);
  call("cuModuleLoadData", &module, static_cast<const void*>(image.data()));
  call("cuModuleGetFunction", &fill, module, "fill");
  call("cuModuleGetFunction", &total, module, "total");
  Pointer values, sum;
  void* host;
  call("cuMemAlloc", &values, size_t{kCount * sizeof(float)});
  call("cuMemAlloc", &sum, sizeof(float));
  call("cuMemHostAlloc", &host, sizeof(float), 0u);

  float three = 3;
  int count = mode == "out of bounds" ? kCount + 20 : kCount;
  void* fill_arguments[] = {&values, &three, &count};
  launch(fill, 4, first, fill_arguments);
  call("cuEventRecord", event, first);
  if (mode != "does not wait") call("cuStreamWaitEvent", second, event, 0u);
  int all = kCount;
  void* total_arguments[] = {&values, &sum, &all};
  if (mode == "after free") {
    // Freed on the one stream while the other, which was not told, still has a kernel to run.
    call("cuStreamSynchronize", second);
    call("cuLaunchHostFunc", second, &nap, static_cast<void*>(nullptr));
    launch(total, 1, second, total_arguments);
    call("cuMemFreeAsync", values, first);
  } else {
    launch(total, 1, second, total_arguments);
  }
  call("cuMemcpyDtoHAsync", host, sum, sizeof(float), second);
  if (mode != "host does not wait") call("cuStreamSynchronize", second);
  std::printf("%g\n", *static_cast<float*>(host));
  call("cuCtxSynchronize");
  return 0;
}
