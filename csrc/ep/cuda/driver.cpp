#include "ep/cuda/driver.h"

#include <dlfcn.h>

#include "base/error.h"

namespace ofl::ep::cuda {

namespace {

constexpr const char* kLibrary = "libcuda.so.1";

std::string version_str(int version) { return concat(version / 1000, ".", version % 1000 / 10); }

/// Fills in the table; the first function that the driver lacks, or null.
const char* find_functions(void* library, Functions* functions) {
  using GetProcAddress = Result (*)(const char*, void**, int, uint64_t, int*);
  const auto find = reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
  if (!find) return "cuGetProcAddress_v2";
  int status = 0;
#define OFL_CUDA_FIND(name, version, parameters)                                           \
  if (find("cu" #name, reinterpret_cast<void**>(&functions->name), version, 0, &status) != \
          kSuccess ||                                                                      \
      !functions->name) {                                                                  \
    return "cu" #name;                                                                     \
  }
  OFL_CUDA_FUNCTIONS(OFL_CUDA_FIND)
#undef OFL_CUDA_FIND
#define OFL_CUDA_FIND(name, version, parameters) \
  find("cu" #name, reinterpret_cast<void**>(&functions->name), version, 0, &status);
  OFL_CUDA_NEWER_FUNCTIONS(OFL_CUDA_FIND)
#undef OFL_CUDA_FIND
  return nullptr;
}

std::string open(Driver* driver) {
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    return concat("there is no NVIDIA driver (", dlerror(),
                  "); install one, or use another device");
  }
  const std::string wanted = version_str(kOldestDriver);
  const char* lacking = find_functions(library, &driver->functions);
  if (lacking) {
    return concat("the NVIDIA driver is too old, it lacks ", lacking, "; install one for CUDA ",
                  wanted, " or newer");
  }
  const Functions& functions = driver->functions;
  functions.DriverGetVersion(&driver->version);
  if (driver->version < kOldestDriver) {
    return concat("the NVIDIA driver is too old, it is for CUDA ", version_str(driver->version),
                  "; install one for CUDA ", wanted, " or newer");
  }
  if (const Result result = functions.Init(0)) {
    constexpr Result kNoDevice = 100;
    if (result == kNoDevice) return "the NVIDIA driver sees no device; is one there, and visible?";
    const char* name = nullptr;
    functions.GetErrorName(result, &name);
    return concat("the NVIDIA driver cannot start: ", name ? name : "error", " (", result, ")",
                  "; is it as new as its kernel module?");
  }
  functions.DeviceGetCount(&driver->devices);
  if (driver->devices == 0) return "the NVIDIA driver sees no device; is one there, and visible?";
  return "";
}

}  // namespace

const Driver& driver() {
  static const Driver* const the_driver = [] {
    auto* found = new Driver;
    found->problem = open(found);
    if (!found->problem.empty()) found->devices = 0;
    return found;
  }();
  return *the_driver;
}

const Functions& call() {
  const Driver& found = driver();
  if (!found.problem.empty()) fail(ErrorKind::runtime, "[cuda] ", found.problem);
  return found.functions;
}

Result find_pinned(const void* pointer, size_t bytes) {
  constexpr int kMemoryType = 2;  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
  unsigned type = 0;
  const Result first = call().PointerGetAttribute(&type, kMemoryType, address(pointer));
  if (first != kSuccess || bytes < 2) return first;
  return call().PointerGetAttribute(&type, kMemoryType, address(pointer) + bytes - 1);
}

std::string describe(Result result) {
  const char* name = nullptr;
  const char* text = nullptr;
  call().GetErrorName(result, &name);
  call().GetErrorString(result, &text);
  return concat(name ? name : "unknown CUDA error ", name ? "" : std::to_string(result), " (",
                text ? text : "", ")");
}

}  // namespace ofl::ep::cuda
