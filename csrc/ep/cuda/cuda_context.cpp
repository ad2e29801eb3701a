#include "ep/cuda/cuda_context.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <utility>

#include "ep/device.h"
#include "ep/foreign_code.h"

namespace ofl::ep::cuda {

namespace {

/// After these the context is lost (CUDA driver API, CUresult): "the process must be terminated".
bool is_sticky(Result result) {
  constexpr Result kSticky[] = {214 /* ECC */,
                                220 /* NVLINK */,
                                226 /* contained */,
                                700 /* illegal address */,
                                702 /* launch timeout */,
                                709 /* context is destroyed */,
                                710 /* assert */,
                                714 /* hardware stack error */,
                                715 /* illegal instruction */,
                                716 /* misaligned address */,
                                717 /* invalid address space */,
                                718 /* invalid pc */,
                                719 /* launch failed */,
                                721 /* tensor memory leak */,
                                810 /* MPS client is terminated */,
                                911 /* external device */,
                                999 /* unknown */};
  for (Result sticky : kSticky) {
    if (result == sticky) return true;
  }
  return false;
}

/// The calling thread is so for good.
thread_local bool is_relaxed = false;

/// The context that a thread of ours knows to be current. No other thread reads or writes it. In
/// this thread a Current makes a context current and notes it here, or code of others does, which
/// is counted.
struct OwnThread {
  bool is_ours = false;
  const DeviceContext* known = nullptr;
  unsigned count = 0;  // foreign_code_count when it was noted

  const DeviceContext* current() const { return count == foreign_code_count ? known : nullptr; }
  void note(const DeviceContext* context) {
    if (!is_ours) return;
    known = context;
    count = foreign_code_count;
  }
};
thread_local OwnThread own_thread;

/// Those of the devices in use.
struct KnownContexts {
  std::mutex mutex;                                  // guards the rest
  std::unordered_map<int, DeviceContext*> contexts;  // by ordinal
};

KnownContexts& known() {
  static KnownContexts* the_contexts = new KnownContexts;  // streams may outlive statics
  return *the_contexts;
}

}  // namespace

DeviceContext::DeviceContext(ofl::Device id) : id_(id) {
  const Functions& functions = call();
  check(functions.DeviceGet(&ordinal_, id.index), "cuDeviceGet");
  constexpr int kMultiprocessors = 16;  // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
  check(functions.DeviceGetAttribute(&multiprocessors_, kMultiprocessors, ordinal_),
        "cuDeviceGetAttribute");
  check(functions.DevicePrimaryCtxRetain(&handle_, ordinal_), "cuDevicePrimaryCtxRetain");
  std::lock_guard<std::mutex> lock(known().mutex);
  known().contexts[ordinal_] = this;
}

// The driver may be gone already when the process ends: then it answers so, and nobody minds.
DeviceContext::~DeviceContext() {
  {
    std::lock_guard<std::mutex> lock(known().mutex);
    known().contexts.erase(ordinal_);
  }
  if (is_dead()) return;
  const Functions& functions = call();
  if (clock_start_) functions.EventDestroy(clock_start_);
  functions.DevicePrimaryCtxRelease(ordinal_);
}

Error DeviceContext::error_of(Result result, const char* function) {
  if (is_sticky(result)) lose(result, function);
  return Error(result == kOutOfMemory ? ErrorKind::out_of_memory : ErrorKind::runtime,
               concat("[", id_.str(), "] ", function, ": ", describe(result)));
}

void DeviceContext::lose(Result result, const char* function) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (is_dead()) return;
  cause_ = concat("lost: ", function, " said ", describe(result),
                  "; restart the process to use it again");
  dead_.store(true, std::memory_order_release);
}

void DeviceContext::throw_error(Result result, const char* function) {
  throw error_of(result, function);
}

Error DeviceContext::death() {
  std::lock_guard<std::mutex> lock(mutex_);
  return Error(ErrorKind::runtime, concat("[", id_.str(), "] the device is ", cause_));
}

void DeviceContext::throw_death() { throw death(); }

void DeviceContext::require_working() {
  require_alive();
  const Current current(*this, std::nothrow);
  const Result result = current.failure() ? current.failure() : call().StreamQuery(nullptr);
  if (!is_sticky(result)) return;
  lose(result, current.failure() ? current.function() : "cuStreamQuery");
  throw_death();
}

void DeviceContext::after_fork_in_child() {
  cause_ = "not usable in a forked process: CUDA does not survive fork; start processes by spawn";
  dead_.store(true, std::memory_order_release);
}

DeviceContext* DeviceContext::find(int ordinal) {
  std::lock_guard<std::mutex> lock(known().mutex);
  const auto found = known().contexts.find(ordinal);
  return found == known().contexts.end() ? nullptr : found->second;
}

// A device has a bounded number of peers: what the driver refuses goes through the host.
bool DeviceContext::enable_peer(DeviceContext& peer) {
  constexpr Result kAlreadyEnabled = 704;
  int can = 0;
  check(call().DeviceCanAccessPeer(&can, ordinal_, peer.ordinal_), "cuDeviceCanAccessPeer");
  if (!can) return false;
  Current current(*this);
  const Result result = call().CtxEnablePeerAccess(peer.handle_, 0);
  if (is_sticky(result)) peer.require_working();
  if (is_sticky(result)) check(result, "cuCtxEnablePeerAccess");
  return result == kSuccess || result == kAlreadyEnabled;
}

// The driver refuses INT_MAX, as any size that the device does not have.
void DeviceContext::allow_shared(Function function, size_t bytes) {
  constexpr int kMaxDynamicSharedBytes = 8;  // CUfunction_attribute
  constexpr size_t kMost = INT_MAX;
  const std::lock_guard<std::mutex> lock(shared_mutex_);
  const auto found = allowed_shared_.find(function);
  if (found != allowed_shared_.end() && found->second >= bytes) return;
  check(call().FuncSetAttribute(function, kMaxDynamicSharedBytes,
                                static_cast<int>(std::min(bytes, kMost))),
        "cuFuncSetAttribute");
  allowed_shared_[function] = bytes;
}

/// With the clock's mutex, and this context current. In a stream of its own: the default stream
/// waits for what other libraries have put there.
Result DeviceContext::start_clock() {
  constexpr unsigned kNonBlocking = 1;
  const Functions& functions = call();
  StreamHandle stream = nullptr;
  if (const Result result = functions.StreamCreateWithPriority(&stream, kNonBlocking, 0)) {
    return result;
  }
  Result result = functions.EventCreate(&clock_start_, 0);
  if (!result) result = functions.EventRecord(clock_start_, stream);
  if (!result) result = functions.EventSynchronize(clock_start_);
  functions.StreamDestroy(stream);
  if (result) {
    if (clock_start_) functions.EventDestroy(std::exchange(clock_start_, nullptr));
    return result;
  }
  clock_start_ns_ = std::chrono::duration_cast<std::chrono::nanoseconds>(
                        std::chrono::steady_clock::now().time_since_epoch())
                        .count();
  return kSuccess;
}

// A float of milliseconds is exact to a microsecond for some seconds: then the clock starts again.
int64_t DeviceContext::time_of(EventHandle event) {
  constexpr float kLongestMs = 4000;
  if (is_dead()) return 0;
  std::lock_guard<std::mutex> lock(clock_mutex_);
  const Current current(*this, std::nothrow);
  Result result = current.failure();
  if (!result && !clock_start_) result = start_clock();
  float milliseconds = 0;
  if (!result) result = call().EventElapsedTime(&milliseconds, clock_start_, event);
  if (result) {
    if (is_sticky(result)) {
      lose(result, current.failure() ? current.function() : "cuEventElapsedTime");
    }
    return 0;
  }
  const int64_t time = clock_start_ns_ + static_cast<int64_t>(double(milliseconds) * 1e6);
  if (milliseconds > kLongestMs) {
    call().EventDestroy(std::exchange(clock_start_, nullptr));
    start_clock();
  }
  return time;
}

bool release_caches(Device& device) { return device.release_caches() > 0; }

Current::Current(DeviceContext& context) {
  context.require_alive();
  const Result result = push(context);
  context.check(result, function_);
}

void Relaxed::for_good() {
  if (std::exchange(is_relaxed, true)) return;
  int mode = kMode;
  call().ThreadExchangeStreamCaptureMode(&mode);
}

Relaxed::Relaxed() : exchanged_(!is_relaxed) {
  if (exchanged_) call().ThreadExchangeStreamCaptureMode(&mode_);
}

Relaxed::~Relaxed() {
  if (exchanged_) call().ThreadExchangeStreamCaptureMode(&mode_);
}

Result Current::keep(DeviceContext& context) {
  const Result result = call().CtxSetCurrent(context.handle());
  own_thread.is_ours = true;
  if (result == kSuccess) own_thread.note(&context);
  return result;
}

Result Current::push(DeviceContext& context) {
  if (own_thread.current() == &context) return kSuccess;
  const Functions& functions = call();
  Context current = nullptr;
  Result result = functions.CtxGetCurrent(&current);
  if (result != kSuccess) return result;
  if (current == context.handle()) {
    own_thread.note(&context);
    return kSuccess;
  }
  function_ = "cuCtxPushCurrent";
  result = functions.CtxPushCurrent(context.handle());
  if (result != kSuccess) return result;
  pushed_ = true;
  below_ = own_thread.current();
  own_thread.note(&context);
  return kSuccess;
}

// The knowledge from before holds again, unless code of others has run since.
Current::~Current() {
  if (!pushed_) return;
  Context popped = nullptr;
  call().CtxPopCurrent(&popped);
  own_thread.known = own_thread.current() ? below_ : nullptr;
}

}  // namespace ofl::ep::cuda
