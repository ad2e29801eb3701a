// StreamType: the streams that a device has, one row each.
#pragma once

#include <cstdint>

#include "ep/device.h"

namespace ofl::vm {

/// The compute lanes come first: the number of one is its lane.
enum class StreamType : uint8_t {
  compute,
  compute1,
  compute2,
  compute3,  // the compute lanes
  h2d,
  d2h,
  ccl,
  pinned_compute,
  host_func,
  engine,
  blocking,
  barrier
};

/// The threads of a stream: a Worker; or a Pool of one (functions in their order), of as many as
/// the cores (functions that compute), or of as many as there is work for (functions that wait).
enum class Threads : uint8_t { worker, one, cores, many };

struct StreamTypeInfo {
  const char* name;
  bool computes;     // one of the compute lanes
  bool on_host;      // runs in host threads even when its device has queues
  bool record_each;  // an event after every instruction: others will need exactly that point
  bool helpable;     // a waiting host thread may run its instructions
  Threads threads;
  ep::QueuePriority priority;
};

inline constexpr StreamTypeInfo kStreamTypes[] = {
    {"compute", true, false, false, true, Threads::worker, ep::QueuePriority::normal},
    {"compute1", true, false, false, true, Threads::worker, ep::QueuePriority::normal},
    {"compute2", true, false, false, true, Threads::worker, ep::QueuePriority::normal},
    {"compute3", true, false, false, true, Threads::worker, ep::QueuePriority::normal},
    {"h2d", false, false, true, true, Threads::worker, ep::QueuePriority::high},
    {"d2h", false, false, true, true, Threads::worker, ep::QueuePriority::high},
    {"ccl", false, false, false, false, Threads::worker, ep::QueuePriority::normal},
    {"pinned_compute", false, true, false, true, Threads::worker, ep::QueuePriority::normal},
    {"host_func", false, true, false, false, Threads::one, ep::QueuePriority::normal},
    {"engine", false, true, false, false, Threads::cores, ep::QueuePriority::normal},
    {"blocking", false, true, false, false, Threads::many, ep::QueuePriority::normal},
    {"barrier", false, true, false, false, Threads::worker, ep::QueuePriority::normal},
};
inline constexpr int kStreamTypeCount = sizeof(kStreamTypes) / sizeof(kStreamTypes[0]);
inline constexpr int kComputeLanes = [] {
  int lanes = 0;
  while (kStreamTypes[lanes].computes) ++lanes;
  return lanes;
}();
inline constexpr StreamType compute_lane(int lane) { return static_cast<StreamType>(lane); }
inline constexpr const StreamTypeInfo& info(StreamType type) {
  return kStreamTypes[static_cast<int>(type)];
}

}  // namespace ofl::vm
