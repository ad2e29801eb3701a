#include "ep/cuda/pinned_ring.h"

#include <algorithm>

#include "ep/device.h"

namespace ofl::ep::cuda {

namespace {

// Some 80 us of a PCIe 5 link; a copy of the host by several threads takes as long.
constexpr size_t kChunkBytes = size_t{4} << 20;
constexpr size_t kChunks = 4;
constexpr unsigned kBlockingSync = 1, kDisableTiming = 2;

size_t chunks_of(size_t bytes) { return (bytes + kChunkBytes - 1) / kChunkBytes; }

/// Bytes of the i-th chunk.
size_t length(size_t bytes, size_t i) { return std::min(kChunkBytes, bytes - i * kChunkBytes); }

}  // namespace

PinnedRing::~PinnedRing() {
  for (Chunk& chunk : chunks_) {
    if (context_.is_dead()) return;
    run_quietly(context_, "cuEventDestroy",
                [&](const Functions& functions) { return functions.EventDestroy(chunk.event); });
  }
}

/// The i-th of the ring, made when it is first asked for.
PinnedRing::Chunk& PinnedRing::chunk(size_t i) {
  if (i < chunks_.size()) return chunks_[i];
  Chunk made;
  made.memory = device_.staging().lease(kChunkBytes);
  context_.check(call().EventCreate(&made.event, kBlockingSync | kDisableTiming), "cuEventCreate");
  chunks_.push_back(std::move(made));
  return chunks_.back();
}

void PinnedRing::wait_for(const Chunk& chunk) {
  context_.check(call().EventSynchronize(chunk.event), "cuEventSynchronize");
}

/// After the device's copy: nobody touches the chunk before its event. Where there is none, the
/// queue is waited for.
void PinnedRing::finish(const Chunk& chunk, StreamHandle stream, Result result,
                        const char* function) {
  context_.check(result, function);
  result = call().EventRecord(chunk.event, stream);
  if (result == kSuccess) return;
  call().StreamSynchronize(stream);
  context_.check(result, "cuEventRecord");
}

void PinnedRing::to_device(StreamHandle stream, Pointer dst, const char* src, size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = 0; i < chunks_of(bytes); ++i, next_ = (next_ + 1) % kChunks) {
    Chunk& place = chunk(next_);
    wait_for(place);
    const size_t offset = i * kChunkBytes;
    device_.staging().copy(place.memory.data(), src + offset, length(bytes, i));
    const Result result =
        call().MemcpyHtoDAsync(dst + offset, place.memory.data(), length(bytes, i), stream);
    finish(place, stream, result, "cuMemcpyHtoDAsync");
  }
}

// The device is as many chunks ahead of the host as there are. Of a copy that failed before, chunks
// may still be written to: each is waited for before it is used.
void PinnedRing::to_host(StreamHandle stream, char* dst, Pointer src, size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  const size_t count = chunks_of(bytes);
  for (size_t asked = 0, taken = 0; taken < count;) {
    if (asked < count && asked < taken + kChunks) {
      Chunk& place = chunk(asked % kChunks);
      wait_for(place);
      const Result result = call().MemcpyDtoHAsync(place.memory.data(), src + asked * kChunkBytes,
                                                   length(bytes, asked), stream);
      finish(place, stream, result, "cuMemcpyDtoHAsync");
      ++asked;
      continue;
    }
    Chunk& place = chunk(taken % kChunks);
    wait_for(place);
    device_.staging().copy(dst + taken * kChunkBytes, place.memory.data(), length(bytes, taken));
    ++taken;
  }
}

}  // namespace ofl::ep::cuda
