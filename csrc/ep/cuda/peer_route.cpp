#include "ep/cuda/peer_route.h"

#include <algorithm>

#include "ep/device.h"

namespace ofl::ep::cuda {

namespace {
constexpr size_t kChunkBytes = size_t{4} << 20;
constexpr size_t kChunks = 4;
constexpr unsigned kDisableTiming = 2, kNonBlocking = 1;
}  // namespace

PeerRoute::~PeerRoute() {
  const auto destroy = [](DeviceContext& context, const char* function, const auto& run) {
    if (!context.is_dead()) run_quietly(context, function, run);
  };
  for (const Chunk& chunk : chunks_) {
    destroy(from_, "cuEventDestroy",
            [&](const Functions& functions) { return functions.EventDestroy(chunk.filled); });
    destroy(to_, "cuEventDestroy",
            [&](const Functions& functions) { return functions.EventDestroy(chunk.emptied); });
  }
  if (!source_queue_) return;
  destroy(from_, "cuStreamDestroy",
          [&](const Functions& functions) { return functions.StreamDestroy(source_queue_); });
}

/// The source's queue and the chunks.
void PeerRoute::prepare() {
  if (chunks_.size() == kChunks) return;
  const Functions& functions = call();
  if (!source_queue_) {
    const Current current(from_);
    from_.check(functions.StreamCreateWithPriority(&source_queue_, kNonBlocking, 0),
                "cuStreamCreateWithPriority");
  }
  while (chunks_.size() < kChunks) {
    Chunk made;
    made.memory = device_.staging().lease(kChunkBytes);
    {
      const Current current(from_);
      from_.check(functions.EventCreate(&made.filled, kDisableTiming), "cuEventCreate");
    }
    to_.check(functions.EventCreate(&made.emptied, kDisableTiming), "cuEventCreate");
    chunks_.push_back(std::move(made));
  }
}

void PeerRoute::copy(StreamHandle stream, Pointer dst, Pointer src, size_t bytes) {
  from_.require_alive();
  if (direct_) {
    const Result result =
        call().MemcpyPeerAsync(dst, to_.handle(), src, from_.handle(), bytes, stream);
    if (result != kSuccess) from_.require_working();
    to_.check(result, "cuMemcpyPeerAsync");
    return;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  prepare();
  try {
    for (size_t done = 0; done < bytes; done += kChunkBytes, next_ = (next_ + 1) % kChunks) {
      copy_chunk(chunks_[next_], stream, dst + done, src + done,
                 std::min(kChunkBytes, bytes - done));
    }
  } catch (const Error&) {
    // A chunk may be in use without an event: both queues are run to their ends.
    call().StreamSynchronize(source_queue_);
    call().StreamSynchronize(stream);
    throw;
  }
}

void PeerRoute::copy_chunk(Chunk& chunk, StreamHandle stream, Pointer dst, Pointer src,
                           size_t bytes) {
  const Functions& functions = call();
  {
    const Current current(from_);
    from_.check(functions.StreamWaitEvent(source_queue_, chunk.emptied, 0), "cuStreamWaitEvent");
    from_.check(functions.MemcpyDtoHAsync(chunk.memory.data(), src, bytes, source_queue_),
                "cuMemcpyDtoHAsync");
    from_.check(functions.EventRecord(chunk.filled, source_queue_), "cuEventRecord");
  }
  to_.check(functions.StreamWaitEvent(stream, chunk.filled, 0), "cuStreamWaitEvent");
  to_.check(functions.MemcpyHtoDAsync(dst, chunk.memory.data(), bytes, stream),
            "cuMemcpyHtoDAsync");
  to_.check(functions.EventRecord(chunk.emptied, stream), "cuEventRecord");
}

PeerRoute& PeerRoutes::from(DeviceContext& peer) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::unique_ptr<PeerRoute>& route = routes_[peer.handle()];
  if (!route) route = std::make_unique<PeerRoute>(peer, to_, device_, to_.enable_peer(peer));
  return *route;
}

}  // namespace ofl::ep::cuda
