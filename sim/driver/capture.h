// Stream capture: what is pushed into a capturing stream becomes nodes of a graph. A stream that
// waits for an event recorded in a capture takes part in it; at its end all must have been joined.
//
//   begin(A)   A: kernel ──► record e            A: wait for f ──► kernel ──► end(A): the graph
//                              └──► B: wait for e ──► copy ──► record f ──┘
//
// A call that conflicts with a capture is refused, and invalidates it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "driver/graph.h"
#include "driver/objects.h"

namespace simcuda {

/// CUstreamCaptureMode: of a capture, and of a thread.
enum class CaptureMode : int { global = 0, thread_local_ = 1, relaxed = 2 };

/// CUstreamCaptureStatus.
enum class CaptureStatus : int { none = 0, active = 1, invalidated = 2 };

/// One sequence, from its begin in one stream to its end there.
struct Capture {
  const Stream* origin;
  CaptureMode mode;
  std::thread::id thread;
  uint64_t id;
  std::shared_ptr<Graph> graph;
  Handle graph_handle;
  bool is_invalid = false;
  std::vector<std::weak_ptr<Stream>> streams;
};

/// What cuStreamGetCaptureInfo tells.
struct CaptureInfo {
  CaptureStatus status = CaptureStatus::none;
  uint64_t id = 0;
  Handle graph = nullptr;
  const Handle* nodes = nullptr;  // for which the stream's next node waits; as long as the stream
  size_t count = 0;               // does nothing else
};

/// All captures of the process. Any thread.
class Captures {
 public:
  void begin(const std::shared_ptr<Stream>& stream, CaptureMode mode);
  /// The graph's handle.
  Handle end(const std::shared_ptr<Stream>& stream);
  CaptureInfo info(Stream& stream);

  /// In a capturing stream.
  void add(Stream& stream, TaskPtr task);
  /// In a capturing stream: the event stands for what the stream has.
  void record(Stream& stream, Event& event);
  /// False: neither the stream nor the event has to do with a capture.
  bool wait(const std::shared_ptr<Stream>& stream, Event& event);

  /// Fails with STREAM_CAPTURE_UNSUPPORTED where the calling thread must not make a call that is
  /// not safe in a capture.
  void require_safe_thread();
  /// The same for a call that looks at a stream, or at all of a context.
  void require_not_capturing(Stream& stream);
  void require_none_in(const Context& context);
  /// Fails with STREAM_CAPTURE_IMPLICIT where a blocking stream of the context captures: the legacy
  /// stream would wait for it.
  void require_legacy_usable(const Context& context, bool invalidates);
  /// In a capturing stream, for work that no graph can have.
  [[noreturn]] void refuse(Stream& stream, Result code);
  /// Ends those with streams of the context, which goes.
  void drop(const Context& context);

 private:
  template <typename Predicate>
  void invalidate_if(Result code, bool invalidates, const Predicate& conflicts);
  void require_valid(const Capture& capture);

  std::mutex mutex_;  // guards the fields below, and those of streams and events that are captured
  std::vector<std::shared_ptr<Capture>> active_;
  std::atomic<size_t> count_{0};  // of active_
  uint64_t next_id_ = 1;
};

Captures& captures();
/// The calling thread's.
CaptureMode& thread_capture_mode();

}  // namespace simcuda
