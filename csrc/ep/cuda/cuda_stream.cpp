#include "ep/cuda/cuda_stream.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "ep/cuda/peer_route.h"

namespace ofl::ep {

namespace {

using cuda::address;
using cuda::call;
using cuda::Current;

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
cuda::DeviceContext& owner_of(cuda::DeviceContext& context, cuda::Pointer pointer) {
  constexpr int kDeviceOrdinal = 9;  // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL; pools have no context
  int ordinal = -1;
  context.check(call().PointerGetAttribute(&ordinal, kDeviceOrdinal, pointer),
                "cuPointerGetAttribute");
  if (cuda::DeviceContext* found = cuda::DeviceContext::find(ordinal)) return *found;
  fail(ErrorKind::runtime, "[", context.id().str(), "] memory at ", pointer,
       " belongs to no device in use");
}

/// Whether a copy goes through the ring. Up to 64 KiB the driver takes pageable bytes of the host
/// at once (CUDA driver API, "API synchronization behavior").
bool goes_through_ring(const void* pointer, size_t bytes) {
  constexpr size_t kTakenAtOnce = size_t{64} << 10;
  return bytes > kTakenAtOnce && cuda::find_pinned(pointer, bytes) != cuda::kSuccess;
}

}  // namespace

CudaEvent::CudaEvent(cuda::DeviceContext& context, EventKind kind) : context_(context) {
  constexpr unsigned kDisableTiming = 2;
  Current current(context_);
  const unsigned flags = kind == EventKind::untimed ? kDisableTiming : 0;
  context_.check(call().EventCreate(&handle_, flags), "cuEventCreate");
}

CudaEvent::~CudaEvent() {
  if (context_.is_dead()) return;
  cuda::run_quietly(context_, "cuEventDestroy",
                    [this](const auto& functions) { return functions.EventDestroy(handle_); });
}

// What a dead device had to do will not be done: nobody waits for it, and the next look at the
// queue's errors says so. Nothing here throws, though another stream may lose the device meanwhile.
bool CudaEvent::done() {
  if (context_.is_dead()) return true;
  const cuda::Result result =
      cuda::run_quietly(context_, "cuEventQuery",
                        [this](const auto& functions) { return functions.EventQuery(handle_); });
  return result != cuda::kNotReady && !cuda::is_of_capture(result);
}

// Nearly all events are only looked at, so none is made for a thread to sleep on (BLOCKING_SYNC),
// and the driver would keep a core busy in cuEventSynchronize. Naps last a sixteenth of the time
// waited.
void CudaEvent::sync() {
  constexpr int64_t kSpinNs = 100'000, kShortestNapNs = 20'000, kLongestNapNs = 1'000'000;
  for (const int64_t begin = now_ns(); !done();) {
    const int64_t waited = now_ns() - begin;
    if (waited < kSpinNs) {
      std::this_thread::yield();
    } else {
      const int64_t nap = std::clamp(waited / 16, kShortestNapNs, kLongestNapNs);
      std::this_thread::sleep_for(std::chrono::nanoseconds(nap));
    }
  }
}

CudaStream::CudaStream(Device& device, cuda::DeviceContext& context, CudaRoutes& routes,
                       QueuePriority priority)
    : device_(device), context_(context), routes_(routes) {
  constexpr unsigned kNonBlocking = 1;  // no order with the default stream
  Current current(context_);
  int least = 0, greatest = 0;
  context_.check(call().CtxGetStreamPriorityRange(&least, &greatest),
                 "cuCtxGetStreamPriorityRange");
  const int level = priority == QueuePriority::high ? greatest : least;
  context_.check(
      cuda::with_memory(
          device_, [&] { return call().StreamCreateWithPriority(&handle_, kNonBlocking, level); }),
      "cuStreamCreateWithPriority");
}

CudaStream::~CudaStream() {
  capture_.reset();
  loan_.reset();
  cublas_.reset();
  if (context_.is_dead()) return;
  cuda::run_quietly(context_, "cuStreamDestroy",
                    [this](const auto& functions) { return functions.StreamDestroy(handle_); });
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
  Current current(context_);
  const cuda::KernelNode node = kernel_node(context_, kernel);
  void* parameters[] = {const_cast<void*>(kernel.args)};
  const auto run = [&] {
    return call().LaunchKernel(node.function, node.grid[0], node.grid[1], node.grid[2],
                               node.block[0], node.block[1], node.block[2], node.shared_bytes,
                               handle_, parameters, nullptr);
  };
  context_.check(cuda::with_memory(device_, run), "cuLaunchKernel");
  if (capture_) capture_->launched();
}

// The driver takes a block of parameters by its address and its size (cuLaunchKernel, `extra`).
// A kernel with more than 48 KiB of dynamic shared memory must ask for it.
void CudaStream::launch(const UserKernel& kernel) {
  constexpr size_t kSharedOfAll = size_t{48} << 10;
  Current current(context_);
  const auto function = static_cast<cuda::Function>(kernel.function);
  if (kernel.shared_bytes > kSharedOfAll) context_.allow_shared(function, kernel.shared_bytes);
  size_t bytes = kernel.args_bytes;
  void* const pointer_key = reinterpret_cast<void*>(1);  // CU_LAUNCH_PARAM_BUFFER_POINTER
  void* const size_key = reinterpret_cast<void*>(2);     // CU_LAUNCH_PARAM_BUFFER_SIZE
  void* extra[] = {pointer_key, const_cast<void*>(kernel.args), size_key, &bytes, nullptr};
  const auto run = [&] {
    return call().LaunchKernel(function, kernel.grid[0], kernel.grid[1], kernel.grid[2],
                               kernel.block[0], kernel.block[1], kernel.block[2],
                               static_cast<unsigned>(kernel.shared_bytes), handle_, nullptr, extra);
  };
  context_.check(cuda::with_memory(device_, run), "cuLaunchKernel");
}

// The library allocates for the launcher before the capture begins.
void CudaStream::begin_capture(Stream* launcher) {
  Current current(context_);
  std::unique_ptr<cuda::CublasLoan> loan;
  if (launcher) {
    cuda::Cublas* const cublas = static_cast<CudaStream*>(launcher)->cublas();
    if (!cublas) throw CaptureError("the library that makes its products is not in use any more");
    loan = std::make_unique<cuda::CublasLoan>(*cublas, handle_);
  }
  capture_ = std::make_unique<CudaCapture>(context_, handle_);
  loan_ = std::move(loan);
}

std::unique_ptr<Graph> CudaStream::end_capture(std::unique_ptr<Graph> before) {
  if (!capture_) fail(ErrorKind::runtime, "[", device_.id().str(), "] the queue captures nothing");
  Current current(context_);
  const std::unique_ptr<cuda::CublasLoan> loan = std::move(loan_);  // ends after the capture
  const std::unique_ptr<CudaCapture> capture = std::move(capture_);
  return capture->end(device_, std::move(before));
}

void CudaStream::launch(Graph& graph) {
  Current current(context_);
  static_cast<CudaGraph&>(graph).launch(device_, handle_);
}

cuda::Cublas* CudaStream::cublas() {
  if (!cublas_) cublas_ = cuda::Cublas::make(device_, context_, handle_);
  return cublas_.get();
}

bool CudaStream::gemm(const GemmCall& product) {
  Current current(context_);
  if (loan_) return loan_->gemm(product);
  if (capture_) throw CaptureError("its products have no queue that launches them");
  cuda::Cublas* const own = cublas();
  return own && own->gemm(product);
}

void CudaStream::copy(void* dst, const void* src, size_t bytes, CopyKind kind) {
  if (bytes == 0) return;
  Current current(context_);
  switch (kind) {
    case CopyKind::h2d: return copy_to_device(address(dst), src, bytes);
    case CopyKind::d2h: return copy_to_host(dst, address(src), bytes);
    case CopyKind::d2d:
      return context_.check(call().MemcpyDtoDAsync(address(dst), address(src), bytes, handle_),
                            "cuMemcpyDtoDAsync");
    case CopyKind::peer: return copy_from_peer(address(dst), address(src), bytes);
  }
}

void CudaStream::copy_to_device(cuda::Pointer dst, const void* src, size_t bytes) {
  if (goes_through_ring(src, bytes)) {
    return routes_.h2d.to_device(handle_, dst, static_cast<const char*>(src), bytes);
  }
  context_.check(call().MemcpyHtoDAsync(dst, src, bytes, handle_), "cuMemcpyHtoDAsync");
}

void CudaStream::copy_to_host(void* dst, cuda::Pointer src, size_t bytes) {
  if (goes_through_ring(dst, bytes)) {
    return routes_.d2h.to_host(handle_, static_cast<char*>(dst), src, bytes);
  }
  context_.check(call().MemcpyDtoHAsync(dst, src, bytes, handle_), "cuMemcpyDtoHAsync");
}

void CudaStream::copy_from_peer(cuda::Pointer dst, cuda::Pointer src, size_t bytes) {
  routes_.peers.from(owner_of(context_, src)).copy(handle_, dst, src, bytes);
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
  cuda::run_quietly(context_, "cuStreamSynchronize",
                    [this](const auto& functions) { return functions.StreamSynchronize(handle_); });
}

std::optional<Error> CudaStream::async_error() {
  if (!context_.is_dead()) {
    const cuda::Result result =
        cuda::run_quietly(context_, "cuStreamQuery",
                          [this](const auto& functions) { return functions.StreamQuery(handle_); });
    if (result == cuda::kSuccess || result == cuda::kNotReady || cuda::is_of_capture(result)) {
      return std::nullopt;
    }
    if (!context_.is_dead()) context_.lose(result, "cuStreamQuery");
  }
  return context_.death();
}

}  // namespace ofl::ep
