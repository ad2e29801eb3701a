// What the driver API's binary interface fixes: result codes, numbered constants, structs that
// callers fill. Handles are opaque numbers, never addresses.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simcuda {

using DevicePtr = unsigned long long;
using Handle = void*;
using HostFunction = void (*)(void*);

/// Name, number, and what cuGetErrorString says.
// clang-format off
#define SIMCUDA_RESULTS(row) \
  row(SUCCESS, 0, "no error") \
  row(ERROR_INVALID_VALUE, 1, "invalid argument") \
  row(ERROR_OUT_OF_MEMORY, 2, "out of memory") \
  row(ERROR_NOT_INITIALIZED, 3, "initialization error") \
  row(ERROR_DEINITIALIZED, 4, "driver shutting down") \
  row(ERROR_NO_DEVICE, 100, "no CUDA-capable device is detected") \
  row(ERROR_INVALID_DEVICE, 101, "invalid device ordinal") \
  row(ERROR_INVALID_IMAGE, 200, "device kernel image is invalid") \
  row(ERROR_INVALID_CONTEXT, 201, "invalid device context") \
  row(ERROR_NO_BINARY_FOR_GPU, 209, "no kernel image is available for the device") \
  row(ERROR_ECC_UNCORRECTABLE, 214, "uncorrectable ECC error encountered") \
  row(ERROR_PEER_ACCESS_UNSUPPORTED, 217, "peer access is not supported") \
  row(ERROR_INVALID_PTX, 218, "a PTX JIT compilation failed") \
  row(ERROR_INVALID_HANDLE, 400, "invalid resource handle") \
  row(ERROR_ILLEGAL_STATE, 401, "the operation cannot be performed in the present state") \
  row(ERROR_NOT_FOUND, 500, "named symbol not found") \
  row(ERROR_NOT_READY, 600, "device not ready") \
  row(ERROR_ILLEGAL_ADDRESS, 700, "an illegal memory access was encountered") \
  row(ERROR_LAUNCH_OUT_OF_RESOURCES, 701, "too many resources requested for launch") \
  row(ERROR_LAUNCH_TIMEOUT, 702, "the launch timed out and was terminated") \
  row(ERROR_PEER_ACCESS_ALREADY_ENABLED, 704, "peer access is already enabled") \
  row(ERROR_PEER_ACCESS_NOT_ENABLED, 705, "peer access has not been enabled") \
  row(ERROR_PRIMARY_CONTEXT_ACTIVE, 708, "the primary context is active") \
  row(ERROR_CONTEXT_IS_DESTROYED, 709, "context is destroyed") \
  row(ERROR_ASSERT, 710, "device-side assert triggered") \
  row(ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712, "host memory is already registered") \
  row(ERROR_HOST_MEMORY_NOT_REGISTERED, 713, "host memory is not registered") \
  row(ERROR_ILLEGAL_INSTRUCTION, 715, "an illegal instruction was encountered") \
  row(ERROR_MISALIGNED_ADDRESS, 716, "misaligned address") \
  row(ERROR_LAUNCH_FAILED, 719, "unspecified launch failure") \
  row(ERROR_NOT_PERMITTED, 800, "operation not permitted") \
  row(ERROR_NOT_SUPPORTED, 801, "operation not supported") \
  row(ERROR_SYSTEM_NOT_READY, 802, "system not yet initialized") \
  row(ERROR_STREAM_CAPTURE_UNSUPPORTED, 900, "operation not permitted when stream is capturing") \
  row(ERROR_STREAM_CAPTURE_INVALIDATED, 901, "operation failed due to a previous error during capture") \
  row(ERROR_STREAM_CAPTURE_MERGE, 902, "operation would result in a merge of separate capture sequences") \
  row(ERROR_STREAM_CAPTURE_UNMATCHED, 903, "capture was not ended in the same stream as it began") \
  row(ERROR_STREAM_CAPTURE_UNJOINED, 904, "capturing stream has unjoined work") \
  row(ERROR_STREAM_CAPTURE_ISOLATION, 905, "dependency created on uncaptured work in another stream") \
  row(ERROR_STREAM_CAPTURE_IMPLICIT, 906, "operation would make the legacy stream depend on a capturing blocking stream") \
  row(ERROR_CAPTURED_EVENT, 907, "operation not permitted on an event last recorded in a capturing stream") \
  row(ERROR_STREAM_CAPTURE_WRONG_THREAD, 908, "attempt to terminate a thread-local capture sequence from another thread") \
  row(ERROR_GRAPH_EXEC_UPDATE_FAILURE, 910, "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update") \
  row(ERROR_UNKNOWN, 999, "unknown error")
// clang-format on

enum Result : int {
#define SIMCUDA_ENUMERATOR(name, code, text) name = code,
  SIMCUDA_RESULTS(SIMCUDA_ENUMERATOR)
#undef SIMCUDA_ENUMERATOR
};

/// Thrown by the implementation of a call, returned to its caller.
struct Failure {
  Result code;
};

[[noreturn]] inline void fail(Result code) { throw Failure{code}; }
inline void require(bool holds, Result code = ERROR_INVALID_VALUE) {
  if (!holds) fail(code);
}

enum StreamFlag : unsigned { kStreamNonBlocking = 1 };
enum EventFlag : unsigned {
  kEventBlockingSync = 1,
  kEventDisableTiming = 2,
  kEventInterprocess = 4
};
enum MemoryType : unsigned {
  kMemoryHost = 1,
  kMemoryDevice = 2,
  kMemoryArray = 3,
  kMemoryUnified = 4
};

inline const Handle kNullStream = nullptr;
inline const Handle kLegacyStream = reinterpret_cast<Handle>(1);
inline const Handle kPerThreadStream = reinterpret_cast<Handle>(2);

struct Uuid {
  char bytes[16];
};

/// CUDA_MEMCPY2D_v2.
struct Copy2D {
  struct Side {
    size_t x_in_bytes;
    size_t y;
    unsigned memory_type;
    void* host;
    DevicePtr device;
    void* array;
    size_t pitch;
  };
  Side src;
  Side dst;
  size_t width_in_bytes;
  size_t height;
};

/// CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNodeParameters {
  Handle function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void** kernel_parameters;
  void** extra;
  Handle kernel;
  Handle context;
};

/// CUgraphEdgeData; zeros: an edge like all that a capture makes.
struct EdgeData {
  unsigned char bytes[8];
};

/// CUgraphExecUpdateResultInfo.
struct GraphUpdateInfo {
  int result;
  Handle error_node;
  Handle error_from_node;
};

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  Handle stream;
  void* attributes;
  unsigned attribute_count;
};

}  // namespace simcuda
