// Copies between pageable host memory and a cuda device: by a few pinned chunks, so that the host's
// copies and the device's overlap, and the driver does not stop anybody for its own.
//
//   h2d:  host ─► chunk 0 ─► device      d2h:  device ─► chunk 0 ─► host
//              ─► chunk 1 ─►                          ─► chunk 1 ─►
#pragma once

#include <mutex>
#include <vector>

#include "ep/cuda/cuda_context.h"
#include "ep/memory/staging_pool.h"

namespace ofl::ep::cuda {

/// One for each direction of a device. Its memory is that of the staging pool, taken when it is
/// first needed and kept; the device's own must outlive it.
class PinnedRing {
 public:
  PinnedRing(Device& device, DeviceContext& context) : device_(device), context_(context) {}
  ~PinnedRing();
  PinnedRing(const PinnedRing&) = delete;

  /// With the context current. The bytes are taken when it returns.
  void to_device(StreamHandle stream, Pointer dst, const char* src, size_t bytes);
  /// The same; the bytes are there.
  void to_host(StreamHandle stream, char* dst, Pointer src, size_t bytes);

 private:
  struct Chunk {
    StagingLease memory;
    EventHandle event = nullptr;  // behind the device's last copy from or to it
  };

  Chunk& chunk(size_t i);
  void wait_for(const Chunk& chunk);
  void finish(const Chunk& chunk, StreamHandle stream, Result result, const char* function);

  Device& device_;
  DeviceContext& context_;
  std::mutex mutex_;  // one copy at a time; guards the rest
  std::vector<Chunk> chunks_;
  size_t next_ = 0;
};

}  // namespace ofl::ep::cuda
