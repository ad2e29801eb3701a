#include "ep/cuda/cuda_interop.h"

#include "ep/cuda/cuda_stream.h"

namespace ofl::ep {

namespace {

using cuda::call;
using cuda::Current;

/// Handles 1 and 2 stand for the default streams of the context that is current.
cuda::StreamHandle stream_of(uintptr_t handle) {
  return reinterpret_cast<cuda::StreamHandle>(handle);
}

cuda::EventHandle event_of(Event& event) { return static_cast<CudaEvent&>(event).handle(); }

}  // namespace

uintptr_t CudaInterop::handle_of(Stream& queue) {
  return reinterpret_cast<uintptr_t>(static_cast<CudaStream&>(queue).handle());
}

void CudaInterop::make_wait(uintptr_t foreign_queue, Event& event) {
  Current current(context_);
  context_.check(call().StreamWaitEvent(stream_of(foreign_queue), event_of(event), 0),
                 "cuStreamWaitEvent");
}

void CudaInterop::record(uintptr_t foreign_queue, Event& event) {
  Current current(context_);
  context_.check(call().EventRecord(event_of(event), stream_of(foreign_queue)), "cuEventRecord");
}

// Drivers before 12.5 cannot say it: the legacy stream runs after all streams but those that were
// made non-blocking.
void CudaInterop::record_all(Event& event) {
  Current current(context_);
  if (call().CtxRecordEvent) {
    context_.check(call().CtxRecordEvent(context_.handle(), event_of(event)), "cuCtxRecordEvent");
  } else {
    context_.check(call().EventRecord(event_of(event), cuda::kLegacyStream), "cuEventRecord");
  }
}

}  // namespace ofl::ep
