// Running a kernel that never synchronizes: its threads one after the other.
#ifndef SIM_LOOPS_H_
#define SIM_LOOPS_H_

namespace sim {

struct Place {
  uint3 thread, block;
  dim3 block_dim, grid_dim;
  char* dynamic_shared;
  char* scratch;
  unsigned long long random;  // state of the order
  void* escape[5];            // from a thread that gives up
  const char* trapped;        // why
  SimOutcome outcome;
};
static thread_local Place place;

template <typename Call>
SimOutcome run_block(const Call& call, const char** message) {
  if (__builtin_setjmp(place.escape)) {
    *message = place.trapped;
    return place.outcome;
  }
  const dim3& dim = place.block_dim;
  const unsigned count = dim.x * dim.y * dim.z;
  Order order(count, place.random);
  for (unsigned i = 0; i < count; ++i) {
    const auto index = unsigned(order.next());
    place.thread = {index % dim.x, index / dim.x % dim.y, index / (dim.x * dim.y)};
    call();
  }
  return kSimFinished;
}

[[noreturn]] __attribute__((noinline)) inline void trap(const char* why,
                                                        SimOutcome outcome = kSimTrapped) {
  place.trapped = why;
  place.outcome = outcome;
  __builtin_longjmp(place.escape, 1);
}

inline size_t scratch_bytes(unsigned) { return 0; }

}  // namespace sim

#define threadIdx (sim::place.thread)
#define blockIdx (sim::place.block)
#define blockDim (sim::place.block_dim)
#define gridDim (sim::place.grid_dim)

#endif
