// Running a kernel that never synchronizes: its threads one after the other.
#ifndef SIM_LOOPS_H_
#define SIM_LOOPS_H_

namespace sim {

struct Place {
  uint3 thread, block;
  dim3 block_dim, grid_dim;
  char* dynamic_shared;
  char* scratch;
  void* escape[5];      // from a thread that gives up
  const char* trapped;  // why
};
static thread_local Place place;

template <typename Call>
SimOutcome run_block(const Call& call, const char** message) {
  if (__builtin_setjmp(place.escape)) {
    *message = place.trapped;
    return kSimTrapped;
  }
  for (unsigned z = 0; z < place.block_dim.z; ++z) {
    for (unsigned y = 0; y < place.block_dim.y; ++y) {
      for (unsigned x = 0; x < place.block_dim.x; ++x) {
        place.thread = {x, y, z};
        call();
      }
    }
  }
  return kSimFinished;
}

__attribute__((noinline)) inline void trap(const char* why) {
  place.trapped = why;
  __builtin_longjmp(place.escape, 1);
}

inline size_t scratch_bytes(unsigned) { return 0; }

}  // namespace sim

#define threadIdx (sim::place.thread)
#define blockIdx (sim::place.block)
#define blockDim (sim::place.block_dim)
#define gridDim (sim::place.grid_dim)

#endif
