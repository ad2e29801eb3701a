// The whole contract of a backend ("execution provider"). A backend implements Device, Stream and
// Event; it knows no tensor, no dtype and no instruction. cpu/ is the synchronous one, mock/ the
// template for a device with queues. All methods may be called from any thread unless said
// otherwise. Failures are thrown as ofl::Error; a call that throws has had no effect. What holds
// for all devices of a backend is in its row, ep/registry.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/device.h"
#include "base/error.h"
#include "ep/registry.h"

namespace ofl::ep {

class Arena;
class CachingAllocator;
class Device;
class EventPool;
class Interop;
class PeerLibrary;
class StagingPool;

/// A point in a queue. Reusable: each Stream::record moves it to a new point.
class Event {
 public:
  virtual ~Event() = default;
  /// True when all work before the last recorded point has finished (also when never recorded).
  /// What that work wrote is visible to the caller after `true`. Never blocks.
  virtual bool done() = 0;
  /// Blocks the calling thread until done().
  virtual void sync() = 0;
  /// Host time (std::chrono::steady_clock, ns) at which the point was reached; only after done(),
  /// and only of an event that was made with EventKind::timed.
  virtual int64_t reached_at_ns() = 0;
};

/// What an event can tell: that its point is reached, or also when. Timed ones cost a queue more.
enum class EventKind : uint8_t { untimed, timed };
inline constexpr int kEventKindCount = 2;

/// A host function with a block of plain arguments, copied at launch. On a device with queues it
/// runs later, on the queue, and must not throw.
struct HostKernel {
  void (*run)(void* args);
  const void* args;
  size_t args_bytes;
  double work;  // elements processed; a simulated device charges time for it
};

/// A kernel of the device's own, from Device::load_kernel, with one block of arguments that it
/// takes by value.
struct DeviceKernel {
  void* function;
  int64_t items;   // of work, where `blocks` is 0: as many blocks as are good for so many
  int64_t blocks;  // or: so many
  int threads;     // of a block
  size_t shared_bytes;
  const void* args;
  size_t args_bytes;
};

/// A kernel of the user's. Its parameters are one block of bytes, aligned as a structure of C is.
struct UserKernel {
  void* function;  // from Device::load_kernel
  unsigned grid[3], block[3];
  size_t shared_bytes;
  const void* args;
  size_t args_bytes;
};

enum class CopyKind : uint8_t { h2d, d2h, d2d, peer };

enum class QueuePriority : uint8_t { normal, high };

struct GemmCall;  // ep/gemm.h

/// Kernels and products of one queue that were captured, to be launched as a whole as often as
/// wanted. Kernels are numbered in the order of their launches, from 0; products have no numbers.
/// Used by one thread at a time; destroyed when the queues have run its launches.
class Graph {
 public:
  virtual ~Graph() = default;
  /// Later launches run kernel `number` with other arguments, of the same size, and for other
  /// work. The function and the blocks are those that were captured.
  virtual void set(int number, const HostKernel& kernel);
  virtual void set(int number, const DeviceKernel& kernel);
};

/// What cannot be captured: the reason, for who reads a report.
class CaptureError : public Error {
 public:
  explicit CaptureError(const std::string& reason) : Error(ErrorKind::runtime, reason) {}
};

/// A raw in-order queue of one device.
class [[gnu::visibility("default")]] Stream {
 public:
  virtual ~Stream() = default;

  virtual void launch(const HostKernel& kernel) = 0;
  /// Only where the device has kernels of its own.
  virtual void launch(const DeviceKernel& kernel);
  virtual void launch(const UserKernel& kernel);
  /// Enqueues a product by that library; false, and nothing is enqueued, where it has none for it.
  virtual bool gemm(const GemmCall& call);
  /// `dst` and `src` are pointers as their devices' allocators gave them; the host side of an h2d
  /// or d2h copy may be any host memory, which must stay valid until the copy has run; what is
  /// pageable, where Device::stages_pageable(), until the call returns.
  virtual void copy(void* dst, const void* src, size_t bytes, CopyKind kind) = 0;

  virtual void record(Event& event) = 0;
  /// Later work of this queue starts after the event's point recorded last. Does not block the
  /// host.
  virtual void wait(Event& event) = 0;
  /// Blocks the host until the queue is empty.
  virtual void sync() = 0;

  /// Where Device::has_graphs(): until end_capture(), kernels that are launched, and products,
  /// become part of a graph and do not run. Nothing else may be enqueued meanwhile. Products need a
  /// `launcher`: a queue of the device that enqueues nothing meanwhile. They work in the memory
  /// that its own products work in, so that this queue alone may launch the graph.
  virtual void begin_capture(Stream* launcher);
  /// The graph. `before`, if it is not null, is an earlier graph of the same kernels and of as many
  /// products: where the device can, it is brought up to date, and returned.
  virtual std::unique_ptr<Graph> end_capture(std::unique_ptr<Graph> before);
  /// Enqueues all that was captured, by this queue or another one of the device, as one launch.
  virtual void launch(Graph& graph);
  /// What is launched here is kept for later, and may run many times: arguments that are good for
  /// one run only are refused with CaptureError.
  virtual bool keeps_launches() const { return false; }

  /// Stream-ordered memory from the device's caching allocator: usable by work of this queue at
  /// once.
  virtual void* alloc_async(size_t bytes, uint32_t owner_tag = 0);
  /// Gives memory back; work already in this queue may still use it (others wait for an event).
  virtual void free_async(void* ptr, size_t bytes);

  /// An error of work that was accepted and failed later, once; nullopt when there is none.
  virtual std::optional<Error> async_error() = 0;

  virtual Device& device() = 0;
};

class HelperPool;

struct MemoryInfo {
  size_t capacity;  // bytes that the device has (or may use)
  size_t held;      // bytes that the backend has handed out and not got back
};

/// What a backend wants of its caching allocator.
struct AllocatorOptions {
  size_t max_cached = SIZE_MAX;    // bytes kept for reuse at most; beyond, back to the device
  bool announce_requests = false;  // call on_alloc_request()
  size_t slab_bytes = 0;           // ep/memory/slabs.h; a cache that is bounded has none
};

/// Teardown: streams and leased events go first, then the Device. The destructor of each backend
/// starts with shutdown(), while its virtual functions still are its own.
class [[gnu::visibility("default")]] Device {
 public:
  virtual ~Device();

  ofl::Device id() const { return id_; }
  /// True when work runs in the calling thread before launch() returns (the cpu).
  virtual bool is_host() const = 0;

  virtual std::unique_ptr<Stream> create_stream(QueuePriority priority) = 0;
  virtual std::unique_ptr<Event> create_event(EventKind kind) = 0;

  /// Raw memory, 64-byte aligned; Error(out_of_memory) when there is none. Prefer allocator().
  virtual void* alloc(size_t bytes) = 0;
  virtual void free(void* ptr, size_t bytes) = 0;
  /// Host memory that this device's copies can use without staging.
  virtual void* alloc_pinned(size_t bytes) = 0;
  virtual void free_pinned(void* ptr, size_t bytes) = 0;
  virtual MemoryInfo memory_info() = 0;

  /// Called by the allocator for each request, cached or not, where AllocatorOptions ask for it; a
  /// backend may throw (fault injection).
  virtual void on_alloc_request(size_t bytes) { (void)bytes; }

  /// Its queues run host kernels on its memory. Where they do not, the operands are copied.
  bool runs_host_kernels() const { return backend_.runs_host_kernels; }

  /// copy() from and to pageable host memory goes through pinned memory: when it returns, the bytes
  /// are taken (h2d) or there (d2h).
  bool stages_pageable() const { return backend_.stages_pageable; }
  /// Where it does: copies use this memory of the host as it is, until they have run.
  virtual bool is_pinned(const void* ptr, size_t bytes) {
    (void)ptr, (void)bytes;
    return false;
  }

  /// Its memory and queues for other libraries of the process; null where they are nobody else's.
  virtual Interop* interop() { return nullptr; }

  /// The library that connects it with devices of other ranks; null: there is none for its type.
  virtual PeerLibrary* peer_library() { return nullptr; }

  /// The address at which a host kernel of this device may touch `ptr`; Error(runtime) when `ptr`
  /// is another device's memory.
  virtual void* host_address(void* ptr) = 0;

  /// What kernels of its own are compiled for, such as "sm_90"; "" where it has none.
  virtual std::string architecture() const { return ""; }
  /// How many blocks of threads of a kernel it runs at a time, at least.
  virtual int multiprocessors() const { return 1; }
  /// A function of a compiled image, there as long as the device.
  virtual void* load_kernel(const std::string& image, const char* name);

  /// Its queues can capture what is launched into them.
  virtual bool has_graphs() const { return false; }

  /// Whether a library of products is there, for Stream::gemm; may load it.
  virtual bool has_gemm() { return false; }
  /// The value for GemmCall::rounds.
  virtual bool rounds_gemm() { return false; }

  /// Makes this the calling thread's device, where the backend has such a notion. Throws nothing.
  virtual void set_active() {}

  /// Threads that help with large kernels that run in the calling thread; nullptr where none do.
  virtual HelperPool* helpers() { return nullptr; }

  /// Called in the child after fork, before any other use. Threads are gone; memory is still there.
  /// At the fork nothing was in flight and no other thread was inside ep.
  virtual void after_fork_in_child() {}

  /// Any thread that holds no mutex of ours: unused memory of the two caches goes back; how much.
  size_t release_caches();

  /// One of each per device; they live as long as the device and outlive every block and lease.
  CachingAllocator& allocator() { return *allocator_; }
  Arena& arena() { return *arena_; }
  EventPool& events() { return *events_; }
  StagingPool& staging() { return *staging_; }

 protected:
  explicit Device(ofl::Device id, const AllocatorOptions& options = {});

  /// Gives back the cached memory, then destroys the pooled events.
  void shutdown();

 private:
  const ofl::Device id_;
  const Backend& backend_;
  std::unique_ptr<EventPool> events_;
  std::unique_ptr<CachingAllocator> allocator_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<StagingPool> staging_;
};

}  // namespace ofl::ep
