// The CUDA driver: found and opened at first use, called through a table of functions. No header
// and no library of CUDA is needed to build, and none but libcuda.so.1 to run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ofl::ep::cuda {

using Result = int;
using Context = struct ContextTag*;
using StreamHandle = struct StreamTag*;
using EventHandle = struct EventTag*;
using Module = struct ModuleTag*;
using Function = struct FunctionTag*;
using GraphHandle = struct GraphTag*;
using GraphNode = struct GraphNodeTag*;
using GraphExec = struct GraphExecTag*;
using Pointer = uint64_t;

/// Of a device, or of a part of one that programs use as a device.
struct Uuid {
  unsigned char bytes[16];
};

/// CUDA_KERNEL_NODE_PARAMS, since 12.0.
struct KernelNode {
  Function function;
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  void** parameters;
  void** extra;
  void* kernel;
  Context context;
};

/// CUgraphExecUpdateResultInfo.
struct GraphUpdate {
  int result;
  GraphNode node, from;
};

inline constexpr Result kSuccess = 0;
inline constexpr Result kInvalidValue = 1;
inline constexpr Result kOutOfMemory = 2;
inline constexpr Result kDeinitialized = 4;
inline constexpr Result kNotReady = 600;
/// What a call says while somebody captures a stream into a graph (900 to 908): the call did
/// nothing, and nothing is lost.
inline constexpr bool is_of_capture(Result result) { return result >= 900 && result <= 908; }
/// Of cuGraphExecUpdate: the graph is of another shape.
inline constexpr Result kUpdateFailure = 910;
inline constexpr int kOldestDriver = 12000;  // 12.0

// X(name, version of the interface asked for, parameters)
#define OFL_CUDA_FUNCTIONS(X)                                                                 \
  X(Init, 2000, (unsigned flags))                                                             \
  X(DriverGetVersion, 2020, (int* version))                                                   \
  X(DeviceGetCount, 2000, (int* count))                                                       \
  X(DeviceGet, 2000, (int* device, int ordinal))                                              \
  X(DeviceGetName, 2000, (char* name, int length, int device))                                \
  X(DeviceGetAttribute, 2000, (int* value, int attribute, int device))                        \
  X(DeviceTotalMem, 3020, (size_t* bytes, int device))                                        \
  X(DeviceGetUuid, 11040, (Uuid * uuid, int device))                                          \
  X(DeviceCanAccessPeer, 4000, (int* can, int device, int peer))                              \
  X(DevicePrimaryCtxRetain, 7000, (Context * context, int device))                            \
  X(DevicePrimaryCtxRelease, 11000, (int device))                                             \
  X(CtxGetCurrent, 4000, (Context * context))                                                 \
  X(CtxSetCurrent, 4000, (Context context))                                                   \
  X(CtxPushCurrent, 4000, (Context context))                                                  \
  X(CtxPopCurrent, 4000, (Context * context))                                                 \
  X(CtxEnablePeerAccess, 4000, (Context peer, unsigned flags))                                \
  X(CtxGetStreamPriorityRange, 5050, (int* least, int* greatest))                             \
  X(StreamCreateWithPriority, 5050, (StreamHandle * stream, unsigned flags, int priority))    \
  X(StreamDestroy, 4000, (StreamHandle stream))                                               \
  X(StreamSynchronize, 2000, (StreamHandle stream))                                           \
  X(StreamQuery, 2000, (StreamHandle stream))                                                 \
  X(StreamWaitEvent, 3020, (StreamHandle stream, EventHandle event, unsigned flags))          \
  X(EventCreate, 2000, (EventHandle * event, unsigned flags))                                 \
  X(EventDestroy, 4000, (EventHandle event))                                                  \
  X(EventRecord, 2000, (EventHandle event, StreamHandle stream))                              \
  X(EventQuery, 2000, (EventHandle event))                                                    \
  X(EventSynchronize, 2000, (EventHandle event))                                              \
  X(EventElapsedTime, 2000, (float* milliseconds, EventHandle start, EventHandle end))        \
  X(MemAlloc, 3020, (Pointer * pointer, size_t bytes))                                        \
  X(MemFree, 3020, (Pointer pointer))                                                         \
  X(MemHostAlloc, 2020, (void** pointer, size_t bytes, unsigned flags))                       \
  X(MemFreeHost, 2000, (void* pointer))                                                       \
  X(PointerGetAttribute, 4000, (void* value, int attribute, Pointer pointer))                 \
  X(MemcpyHtoDAsync, 3020, (Pointer dst, const void* src, size_t bytes, StreamHandle stream)) \
  X(MemcpyDtoHAsync, 3020, (void* dst, Pointer src, size_t bytes, StreamHandle stream))       \
  X(MemcpyDtoDAsync, 3020, (Pointer dst, Pointer src, size_t bytes, StreamHandle stream))     \
  X(MemcpyPeerAsync, 4000,                                                                    \
    (Pointer dst, Context dst_context, Pointer src, Context src_context, size_t bytes,        \
     StreamHandle stream))                                                                    \
  X(ModuleLoadData, 2000, (Module * module, const void* image))                               \
  X(ModuleUnload, 2000, (Module module))                                                      \
  X(ModuleGetFunction, 2000, (Function * function, Module module, const char* name))          \
  X(LaunchKernel, 4000,                                                                       \
    (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,  \
     unsigned block_y, unsigned block_z, unsigned shared_bytes, StreamHandle stream,          \
     void** parameters, void** extra))                                                        \
  X(FuncSetAttribute, 9000, (Function function, int attribute, int value))                    \
  X(LaunchHostFunc, 10000, (StreamHandle stream, void (*function)(void*), void* argument))    \
  X(ThreadExchangeStreamCaptureMode, 10010, (int* mode))                                      \
  X(StreamBeginCapture, 10010, (StreamHandle stream, int mode))                               \
  X(StreamEndCapture, 10000, (StreamHandle stream, GraphHandle * graph))                      \
  X(StreamGetCaptureInfo, 11030,                                                              \
    (StreamHandle stream, int* status, uint64_t* id, GraphHandle* graph,                      \
     const GraphNode** dependencies, size_t* count))                                          \
  X(GraphInstantiateWithFlags, 11040, (GraphExec * exec, GraphHandle graph, uint64_t flags))  \
  X(GraphExecKernelNodeSetParams, 12000,                                                      \
    (GraphExec exec, GraphNode node, const KernelNode* parameters))                           \
  X(GraphExecUpdate, 12000, (GraphExec exec, GraphHandle graph, GraphUpdate * found))         \
  X(GraphLaunch, 10000, (GraphExec exec, StreamHandle stream))                                \
  X(GraphExecDestroy, 10000, (GraphExec exec))                                                \
  X(GraphDestroy, 10000, (GraphHandle graph))                                                 \
  X(GetErrorName, 6000, (Result result, const char** text))                                   \
  X(GetErrorString, 6000, (Result result, const char** text))

// The same; null where the driver lacks them.
#define OFL_CUDA_NEWER_FUNCTIONS(X) X(CtxRecordEvent, 12050, (Context context, EventHandle event))

struct Functions {
#define OFL_CUDA_FIELD(name, version, parameters) Result(*name) parameters = nullptr;
  OFL_CUDA_FUNCTIONS(OFL_CUDA_FIELD)
  OFL_CUDA_NEWER_FUNCTIONS(OFL_CUDA_FIELD)
#undef OFL_CUDA_FIELD
};

/// What was found: the functions, and how many devices; or, in one sentence, why there is none and
/// what to do.
struct Driver {
  Functions functions;
  int version = 0;  // 1000 * major + 10 * minor
  int devices = 0;
  std::string problem;
};

/// Any thread. Opened at the first call, and then what it was. No context is made.
const Driver& driver();

/// The functions; Error(runtime) with the driver's problem where there are none.
const Functions& call();

/// The special handles of every context.
inline const StreamHandle kLegacyStream = reinterpret_cast<StreamHandle>(uintptr_t{1});

inline Pointer address(const void* pointer) { return reinterpret_cast<Pointer>(pointer); }

/// Whether memory of the host is pinned from its first byte to its last, as far as its ends tell;
/// kInvalidValue where it is not, and what else the driver says where it does not say that.
Result find_pinned(const void* pointer, size_t bytes);

/// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)"
std::string describe(Result result);

}  // namespace ofl::ep::cuda
