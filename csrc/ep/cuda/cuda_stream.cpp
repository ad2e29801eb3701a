#include "ep/cuda/cuda_stream.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

namespace ofl::ep {

namespace {

using cuda::call;
using cuda::Current;

cuda::Pointer address(const void* pointer) { return reinterpret_cast<cuda::Pointer>(pointer); }

CudaEvent& cuda_event(const Device& device, Event& event) {
  if (auto* own = dynamic_cast<CudaEvent*>(&event)) return *own;
  fail(ErrorKind::runtime, "[", device.id().str(), "] event ", &event, " is of another backend");
}

/// What a host kernel needs on the driver's thread.
struct QueuedKernel {
  void (*run)(void*);
  std::vector<max_align_t> args;
};

void run_queued(void* argument) {
  const std::unique_ptr<QueuedKernel> kernel(static_cast<QueuedKernel*>(argument));
  kernel->run(kernel->args.data());
}

/// The context that memory belongs to.
cuda::Context owner_of(cuda::DeviceContext& context, cuda::Pointer pointer) {
  constexpr int kContext = 1;  // CU_POINTER_ATTRIBUTE_CONTEXT
  cuda::Context owner = nullptr;
  context.check(call().PointerGetAttribute(&owner, kContext, pointer), "cuPointerGetAttribute");
  return owner;
}

}  // namespace

CudaEvent::CudaEvent(cuda::DeviceContext& context) : context_(context) {
  constexpr unsigned kBlockingSync = 1;  // who waits sleeps
  Current current(context_);
  context_.check(call().EventCreate(&handle_, kBlockingSync), "cuEventCreate");
}

CudaEvent::~CudaEvent() {
  if (context_.is_dead()) return;
  Current current(context_, std::nothrow);
  call().EventDestroy(handle_);
}

// What a dead device had to do will not be done: nobody waits for it, and the next look at the
// queue's errors says so. Nothing here throws, though another stream may lose the device meanwhile.
bool CudaEvent::done() {
  if (context_.is_dead()) return true;
  Current current(context_, std::nothrow);
  const cuda::Result result = call().EventQuery(handle_);
  if (result == cuda::kNotReady) return false;
  if (result != cuda::kSuccess) context_.lose(result, "cuEventQuery");
  return true;
}

void CudaEvent::sync() {
  if (context_.is_dead()) return;
  Current current(context_, std::nothrow);
  const cuda::Result result = call().EventSynchronize(handle_);
  if (result != cuda::kSuccess) context_.lose(result, "cuEventSynchronize");
}

CudaStream::CudaStream(Device& device, cuda::DeviceContext& context, QueuePriority priority)
    : device_(device), context_(context) {
  constexpr unsigned kNonBlocking = 1;  // no order with the default stream
  Current current(context_);
  int least = 0, greatest = 0;
  context_.check(call().CtxGetStreamPriorityRange(&least, &greatest),
                 "cuCtxGetStreamPriorityRange");
  context_.check(call().StreamCreateWithPriority(
                     &handle_, kNonBlocking, priority == QueuePriority::high ? greatest : least),
                 "cuStreamCreateWithPriority");
}

CudaStream::~CudaStream() {
  cublas_.reset();
  if (context_.is_dead()) return;
  Current current(context_, std::nothrow);
  call().StreamDestroy(handle_);
}

void CudaStream::launch(const HostKernel& kernel) {
  Current current(context_);
  auto queued = std::make_unique<QueuedKernel>();
  queued->run = kernel.run;
  queued->args.resize((kernel.args_bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t));
  if (kernel.args_bytes) std::memcpy(queued->args.data(), kernel.args, kernel.args_bytes);
  context_.check(call().LaunchHostFunc(handle_, run_queued, queued.get()), "cuLaunchHostFunc");
  queued.release();  // run_queued has it
}

void CudaStream::launch(const DeviceKernel& kernel) {
  constexpr int64_t kThreads = 256, kBlocksPerMultiprocessor = 32;
  Current current(context_);
  const int64_t most = context_.multiprocessors() * kBlocksPerMultiprocessor;
  const int64_t blocks =
      kernel.blocks ? kernel.blocks
                    : std::clamp<int64_t>((kernel.items + kThreads - 1) / kThreads, 1, most);
  const auto threads = static_cast<unsigned>(kernel.blocks ? kernel.threads : kThreads);
  void* parameters[] = {const_cast<void*>(kernel.args)};
  context_.check(
      call().LaunchKernel(static_cast<cuda::Function>(kernel.function),
                          static_cast<unsigned>(blocks), 1, 1, threads, 1, 1,
                          static_cast<unsigned>(kernel.shared_bytes), handle_, parameters, nullptr),
      "cuLaunchKernel");
}

bool CudaStream::gemm(const GemmCall& product) {
  Current current(context_);
  if (!cublas_) cublas_ = cuda::Cublas::make(device_, context_, handle_);
  return cublas_ && cublas_->gemm(product);
}

void CudaStream::copy(void* dst, const void* src, size_t bytes, CopyKind kind) {
  if (bytes == 0) return;
  Current current(context_);
  const auto& functions = call();
  switch (kind) {
    case CopyKind::h2d:
      return context_.check(functions.MemcpyHtoDAsync(address(dst), src, bytes, handle_),
                            "cuMemcpyHtoDAsync");
    case CopyKind::d2h:
      return context_.check(functions.MemcpyDtoHAsync(dst, address(src), bytes, handle_),
                            "cuMemcpyDtoHAsync");
    case CopyKind::d2d:
      return context_.check(functions.MemcpyDtoDAsync(address(dst), address(src), bytes, handle_),
                            "cuMemcpyDtoDAsync");
    case CopyKind::peer:
      return context_.check(
          functions.MemcpyPeerAsync(address(dst), owner_of(context_, address(dst)), address(src),
                                    owner_of(context_, address(src)), bytes, handle_),
          "cuMemcpyPeerAsync");
  }
}

void CudaStream::record(Event& event) {
  Current current(context_);
  context_.check(call().EventRecord(cuda_event(device_, event).handle(), handle_), "cuEventRecord");
}

void CudaStream::wait(Event& event) {
  Current current(context_);
  context_.check(call().StreamWaitEvent(handle_, cuda_event(device_, event).handle(), 0),
                 "cuStreamWaitEvent");
}

void CudaStream::sync() {
  if (context_.is_dead()) return;
  Current current(context_, std::nothrow);
  const cuda::Result result = call().StreamSynchronize(handle_);
  if (result != cuda::kSuccess) context_.lose(result, "cuStreamSynchronize");
}

std::optional<Error> CudaStream::async_error() {
  if (!context_.is_dead()) {
    Current current(context_, std::nothrow);
    const cuda::Result result = call().StreamQuery(handle_);
    if (result == cuda::kSuccess || result == cuda::kNotReady) return std::nullopt;
    context_.lose(result, "cuStreamQuery");
  }
  return context_.death();
}

}  // namespace ofl::ep
