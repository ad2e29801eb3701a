// Copies from one cuda device to another: directly where the one can reach the other's memory, else
// by pinned host memory in chunks. The order is the queues': no thread waits.
//
//   source ─[queue of its own]─► chunk ─► event ─► target's queue waits ─► target
//                                  ▲──── that queue waits for an event ◄───┘
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "ep/cuda/cuda_context.h"
#include "ep/memory/staging_pool.h"

namespace ofl::ep::cuda {

class PeerRoute {
 public:
  /// `device` is the target's; it and both contexts outlive the route. `direct`: `to` reaches the
  /// memory of `from`.
  PeerRoute(DeviceContext& from, DeviceContext& to, Device& device, bool direct)
      : from_(from), to_(to), device_(device), direct_(direct) {}
  ~PeerRoute();
  PeerRoute(const PeerRoute&) = delete;

  /// With the target's context current, into its queue. What is to be copied is there already.
  void copy(StreamHandle stream, Pointer dst, Pointer src, size_t bytes);

 private:
  struct Chunk {
    StagingLease memory;
    EventHandle filled = nullptr;   // of the source's context
    EventHandle emptied = nullptr;  // of the target's
  };

  void prepare();
  void copy_chunk(Chunk& chunk, StreamHandle stream, Pointer dst, Pointer src, size_t bytes);

  DeviceContext& from_;
  DeviceContext& to_;
  Device& device_;
  const bool direct_;
  std::mutex mutex_;  // one copy at a time; guards the rest
  StreamHandle source_queue_ = nullptr;
  std::vector<Chunk> chunks_;
  size_t next_ = 0;
};

/// The routes to one device, each made at first use. Their memory is the device's staging memory:
/// they go before it.
class PeerRoutes {
 public:
  PeerRoutes(Device& device, DeviceContext& to) : device_(device), to_(to) {}

  PeerRoute& from(DeviceContext& peer);

 private:
  Device& device_;
  DeviceContext& to_;
  std::mutex mutex_;  // guards the rest
  std::unordered_map<Context, std::unique_ptr<PeerRoute>> routes_;
};

}  // namespace ofl::ep::cuda
