// Counts the calls of the CUDA driver: a libcuda.so.1 that hands out each function of the real one
// behind a few instructions that count. For x86-64; to be loaded before anything opens the driver.
#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#if !defined(__x86_64__)
#error "call_counter.cpp is for x86-64"
#endif

#define EXPORT extern "C" __attribute__((visibility("default")))

// For the instructions below: one entry for each function that was asked for.
extern "C" {
__attribute__((visibility("hidden"))) uint64_t counter_counts[1024];
__attribute__((visibility("hidden"))) void* counter_targets[1024];
extern const char counter_stubs[] __attribute__((visibility("hidden")));
}

// A stub has 32 bytes: it counts, and goes on where the caller wanted to go.
asm(R"(
  .text
  .balign 32
  .hidden counter_stubs
  .globl counter_stubs
counter_stubs:
  .set number, 0
  .rept 1024
  .balign 32
  lock incq counter_counts+8*number(%rip)
  jmp *counter_targets+8*number(%rip)
  .set number, number+1
  .endr
)");

namespace {

constexpr size_t kMost = 1024, kStubBytes = 32;
using GetProcAddress = int (*)(const char*, void**, int, uint64_t, int*);
using GetExportTable = int (*)(const void**, const void*);

std::mutex mutex;  // guards the rest
void* real_driver = nullptr;
std::map<void*, size_t> known;   // number by the real function
std::vector<std::string> names;  // by number

/// The real function's stub; the function itself when there are too many.
void* stub_of(const char* name, void* function) {
  std::lock_guard lock(mutex);
  auto found = known.find(function);
  if (found == known.end()) {
    if (names.size() == kMost) return function;
    found = known.emplace(function, names.size()).first;
    counter_targets[names.size()] = function;
    names.emplace_back(name);
  }
  return const_cast<char*>(counter_stubs) + kStubBytes * found->second;
}

}  // namespace

/// Before all else: where the real driver is. False where it cannot be opened.
EXPORT int counter_open(const char* path) {
  real_driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return real_driver != nullptr;
}

/// The calls of a function so far, of all its interfaces.
EXPORT uint64_t counter_calls(const char* name) {
  std::lock_guard lock(mutex);
  uint64_t sum = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) sum += __atomic_load_n(&counter_counts[i], __ATOMIC_RELAXED);
  }
  return sum;
}

/// The number-th function that was asked for; nullptr behind the last one.
EXPORT const char* counter_name(uint64_t number) {
  std::lock_guard lock(mutex);
  return number < names.size() ? names[number].c_str() : nullptr;
}

EXPORT int cuGetProcAddress_v2(const char* name, void** function, int version, uint64_t flags,
                               int* status) {
  static const auto real =
      reinterpret_cast<GetProcAddress>(dlsym(real_driver, "cuGetProcAddress_v2"));
  const int result = real(name, function, version, flags, status);
  const bool is_call = function && *function && std::strcmp(name, "cuGetProcAddress") != 0;
  if (result == 0 && is_call) *function = stub_of(name, *function);
  return result;
}

EXPORT int cuGetExportTable(const void** table, const void* id) {
  static const auto real = reinterpret_cast<GetExportTable>(dlsym(real_driver, "cuGetExportTable"));
  return real(table, id);
}
