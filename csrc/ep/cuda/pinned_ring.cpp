#include "ep/cuda/pinned_ring.h"

#include <algorithm>
#include <optional>

#include "ep/device.h"

namespace ofl::ep::cuda {

namespace {

// Large enough that what a chunk costs besides its bytes (three calls of the driver, the start and
// the end of the helpers' work) is little. One is filled while one is on its way and one waits.
constexpr size_t kChunkBytes = size_t{8} << 20;
constexpr size_t kChunks = 3;
constexpr unsigned kBlockingSync = 1, kDisableTiming = 2;

/// A transfer by chunks; of a small one they are smaller, so that the host's copies and the
/// device's overlap there, too.
struct Cut {
  explicit Cut(size_t bytes) : bytes(bytes) {
    constexpr size_t kLeast = size_t{1} << 20, kParts = 8;
    const size_t part = (bytes / kParts + kLeast - 1) / kLeast * kLeast;
    each = std::clamp(part, kLeast, kChunkBytes);
  }
  size_t count() const { return (bytes + each - 1) / each; }
  size_t offset(size_t i) const { return i * each; }
  size_t length(size_t i) const { return std::min(each, bytes - offset(i)); }

  size_t bytes, each;
};

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
  const Cut cut(bytes);
  const StagingPool::Transfer transfer(device_.staging(), CopyKind::h2d);
  for (size_t i = 0; i < cut.count(); ++i, next_ = (next_ + 1) % kChunks) {
    Chunk& place = chunk(next_);
    wait_for(place);
    transfer.copy(place.memory.data(), src + cut.offset(i), cut.length(i));
    const Result result =
        call().MemcpyHtoDAsync(dst + cut.offset(i), place.memory.data(), cut.length(i), stream);
    finish(place, stream, result, "cuMemcpyHtoDAsync");
  }
}

// The device is as many chunks ahead of the host as there are. Of a copy that failed before, chunks
// may still be written to: each is waited for before it is used. The helpers are called when the
// first chunk is there: until then the queue may wait for long.
void PinnedRing::to_host(StreamHandle stream, char* dst, Pointer src, size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  const Cut cut(bytes);
  std::optional<StagingPool::Transfer> transfer;
  for (size_t asked = 0, taken = 0; taken < cut.count();) {
    if (asked < cut.count() && asked < taken + kChunks) {
      Chunk& place = chunk(asked % kChunks);
      wait_for(place);
      const Result result = call().MemcpyDtoHAsync(place.memory.data(), src + cut.offset(asked),
                                                   cut.length(asked), stream);
      finish(place, stream, result, "cuMemcpyDtoHAsync");
      ++asked;
      continue;
    }
    Chunk& place = chunk(taken % kChunks);
    wait_for(place);
    if (!transfer) transfer.emplace(device_.staging(), CopyKind::d2h);
    transfer->copy(dst + cut.offset(taken), place.memory.data(), cut.length(taken));
    ++taken;
  }
}

}  // namespace ofl::ep::cuda
