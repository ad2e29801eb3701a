#include "ep/cuda/cuda_device.h"

#include <atomic>

#include "ep/cuda/cuda_context.h"
#include "ep/cuda/cuda_interop.h"
#include "ep/cuda/cuda_stream.h"
#include "ep/cuda/nccl.h"
#include "ep/memory/caching_allocator.h"
#include "ep/memory/staging_pool.h"

namespace ofl::ep {

namespace {

using cuda::call;
using cuda::Current;

std::string architecture_of(const CudaProperties& properties) {
  return concat("sm_", properties.major, properties.minor);
}

/// Small devices have no slabs: most of their memory could end up in some that are hardly used.
AllocatorOptions allocator_options(const CudaProperties& properties) {
  constexpr size_t kSlab = size_t{2} << 20,
                   kSlabsOfDevice = 128;  // the driver maps 2 MiB at a time
  AllocatorOptions options;
  if (properties.total_memory >= kSlab * kSlabsOfDevice) options.slab_bytes = kSlab;
  return options;
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(ofl::Device id) : CudaDevice(id, cuda_properties(id.index)) {}
  ~CudaDevice() override {
    routes_.reset();
    shutdown();
  }

  bool is_host() const override { return false; }
  bool has_graphs() const override { return true; }
  std::unique_ptr<Stream> create_stream(QueuePriority priority) override {
    return std::make_unique<CudaStream>(*this, context_, *routes_, priority);
  }
  std::unique_ptr<Event> create_event(EventKind kind) override {
    return std::make_unique<CudaEvent>(context_, kind);
  }
  bool is_pinned(const void* ptr, size_t bytes) override;
  Interop* interop() override { return &interop_; }
  PeerLibrary* peer_library() override { return &nccl_; }

  void* alloc(size_t bytes) override;
  void free(void* ptr, size_t bytes) override;
  void* alloc_pinned(size_t bytes) override;
  void free_pinned(void* ptr, size_t bytes) override;
  /// No call of the driver: fusion asks it of each intermediate.
  MemoryInfo memory_info() override { return {capacity_, held_}; }
  void* host_address(void* ptr) override;
  std::string architecture() const override { return architecture_; }
  int multiprocessors() const override { return context_.multiprocessors(); }
  bool has_gemm() override { return cuda::cublas_version() > 0; }
  bool rounds_gemm() override { return cuda::is_tf32_allowed(); }
  void* load_kernel(const std::string& image, const char* name) override;
  void set_active() override;
  void after_fork_in_child() override {
    context_.after_fork_in_child();
    staging().after_fork_in_child();
  }

 private:
  CudaDevice(ofl::Device id, const CudaProperties& properties)
      : Device(id, allocator_options(properties)),
        context_(id),
        architecture_(architecture_of(properties)),
        capacity_(properties.total_memory) {}

  cuda::DeviceContext context_;
  CudaInterop interop_{context_};
  cuda::NcclLibrary nccl_{*this, context_};
  std::unique_ptr<CudaRoutes> routes_ = std::make_unique<CudaRoutes>(*this, context_);
  const std::string architecture_;
  const size_t capacity_;
  std::atomic<size_t> held_{0};
};

void* CudaDevice::alloc(size_t bytes) {
  Current current(context_);
  cuda::Pointer pointer = 0;
  const cuda::Result result = call().MemAlloc(&pointer, bytes);
  if (result == cuda::kOutOfMemory) {
    const MemoryInfo info = memory_info();
    fail(ErrorKind::out_of_memory, "[", id().str(), "] out of memory: asked for ", bytes_str(bytes),
         ", held ", bytes_str(info.held), ", capacity ", bytes_str(info.capacity));
  }
  context_.check(result, "cuMemAlloc");
  held_ += bytes;
  return reinterpret_cast<void*>(pointer);
}

// The memory of a dead device went with its context, and all memory with the driver. Destructors
// free: an error of work that had been accepted must not be thrown there.
void CudaDevice::free(void* ptr, size_t bytes) {
  held_ -= bytes;
  if (context_.is_dead()) return;
  cuda::run_quietly(context_, "cuMemFree",
                    [ptr](const auto& functions) { return functions.MemFree(cuda::address(ptr)); });
}

void* CudaDevice::alloc_pinned(size_t bytes) {
  constexpr unsigned kPortable = 1;  // pinned for all devices
  Current current(context_);
  void* ptr = nullptr;
  const cuda::Result result = cuda::with_memory(
      *this, [&] { return call().MemHostAlloc(&ptr, bytes > 0 ? bytes : 1, kPortable); });
  if (result == cuda::kOutOfMemory) {
    fail(ErrorKind::out_of_memory, "[", id().str(), "] out of memory: asked for ", bytes_str(bytes),
         " of pinned host memory");
  }
  context_.check(result, "cuMemHostAlloc");
  return ptr;
}

void CudaDevice::free_pinned(void* ptr, size_t) {
  if (context_.is_dead()) return;
  cuda::run_quietly(context_, "cuMemFreeHost",
                    [ptr](const auto& functions) { return functions.MemFreeHost(ptr); });
}

// Where the driver cannot say it, the memory may be: then a copy is waited for, which is always
// right.
bool CudaDevice::is_pinned(const void* ptr, size_t bytes) {
  if (context_.is_dead()) return false;
  const Current current(context_, std::nothrow);
  return current.failure() || cuda::find_pinned(ptr, bytes) != cuda::kInvalidValue;
}

void* CudaDevice::host_address(void* ptr) {
  fail(ErrorKind::runtime, "[", id().str(), "] the host cannot touch ", ptr,
       ", which is memory of the device");
}

// Modules stay loaded: what is compiled once is used again. The driver may load a kernel only when
// it is asked for, or launched.
void* CudaDevice::load_kernel(const std::string& image, const char* name) {
  Current current(context_);
  cuda::Module module = nullptr;
  cuda::Function function = nullptr;
  context_.check(
      cuda::with_memory(*this, [&] { return call().ModuleLoadData(&module, image.data()); }),
      "cuModuleLoadData");
  const cuda::Result result =
      cuda::with_memory(*this, [&] { return call().ModuleGetFunction(&function, module, name); });
  if (result != cuda::kSuccess) call().ModuleUnload(module);
  context_.check(result, "cuModuleGetFunction");
  return function;
}

// By a thread that has nobody to tell: what it launches fails with the device.
void CudaDevice::set_active() {
  if (context_.is_dead()) return;
  const cuda::Result result = Current::keep(context_);
  if (result != cuda::kSuccess) return context_.lose(result, "cuCtxSetCurrent");
  cuda::Relaxed::for_good();
}

int device_count() { return cuda::driver().devices; }

int owner(const void* ptr) {
  if (device_count() == 0) return -1;
  constexpr int kMemoryType = 2, kDeviceOrdinal = 9;  // CUpointer_attribute
  constexpr unsigned kOfDevice = 2;                   // CU_MEMORYTYPE_DEVICE
  unsigned type = 0;
  int ordinal = 0;
  const cuda::Pointer pointer = cuda::address(ptr);
  if (call().PointerGetAttribute(&type, kMemoryType, pointer) || type != kOfDevice ||
      call().PointerGetAttribute(&ordinal, kDeviceOrdinal, pointer)) {
    return -1;
  }
  return ordinal;
}

}  // namespace

std::string cuda_problem() { return cuda::driver().problem; }

CudaProperties cuda_properties(int index) {
  struct Attribute {
    int number;  // CUdevice_attribute
    int CudaProperties::* field;
  };
  constexpr Attribute kAttributes[] = {{75, &CudaProperties::major},
                                       {76, &CudaProperties::minor},
                                       {16, &CudaProperties::multiprocessors},
                                       {39, &CudaProperties::threads_per_multiprocessor},
                                       {38, &CudaProperties::l2_cache_bytes},
                                       {37, &CudaProperties::memory_bus_bits},
                                       {36, &CudaProperties::memory_clock_khz},
                                       {13, &CudaProperties::clock_khz}};
  const cuda::Functions& functions = call();
  if (index < 0 || index >= device_count()) {
    fail(ErrorKind::value, "[cuda] there is no device ", index, ", expected less than ",
         device_count());
  }
  const auto check = [](cuda::Result result, const char* function) {
    if (result == cuda::kSuccess) return;
    fail(ErrorKind::runtime, "[cuda] ", function, ": ", cuda::describe(result));
  };
  CudaProperties properties;
  int device = 0;
  char name[256] = {};
  check(functions.DeviceGet(&device, index), "cuDeviceGet");
  check(functions.DeviceGetName(name, sizeof(name), device), "cuDeviceGetName");
  properties.name = name;
  check(functions.DeviceTotalMem(&properties.total_memory, device), "cuDeviceTotalMem");
  for (const Attribute& attribute : kAttributes) {
    check(functions.DeviceGetAttribute(&(properties.*attribute.field), attribute.number, device),
          "cuDeviceGetAttribute");
  }
  return properties;
}

Backend cuda_backend() {
  Backend row;
  row.name = "cuda";
  row.count = device_count;
  row.make = [](ofl::Device id) -> std::unique_ptr<Device> {
    return std::make_unique<CudaDevice>(id);
  };
  row.hint = [] {
    const std::string problem = cuda_problem();
    return problem.empty() ? problem : ": " + problem;
  };
  row.owner = owner;
  row.dlpack_type = 2, row.dlpack_also = 13;  // kDLCUDA, kDLCUDAManaged
  row.has_interop = row.stages_pageable = true;
  row.runs_host_kernels = false;
  return row;
}

DeviceType cuda_type() {
  static const DeviceType type = find_backend("cuda")->type;
  return type;
}

}  // namespace ofl::ep
