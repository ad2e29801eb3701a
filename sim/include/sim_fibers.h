// Running a kernel whose threads wait for each other: each thread of a block is a fiber, and all of
// them take turns in one thread of the host.
//
//   run_block ──► each fiber until it waits or ends ──► whose wait is complete goes on ──► ...
//
// A barrier that not every thread of the block reaches at the same line is divergent: undefined on
// a device, an error here. A thread that has ended cannot reach one.
#ifndef SIM_FIBERS_H_
#define SIM_FIBERS_H_

#include "sim_switch.h"

namespace sim {

constexpr unsigned kWarp = 32;

enum class State : unsigned char { ready, at_block_barrier, at_warp_barrier, ended };
enum class WarpKind : unsigned char { barrier, shuffle, vote, match };

struct Fiber {
  Stack stack;
  State state;
  uint3 thread;
  unsigned index;
  unsigned barriers;  // of the block, passed or waited at
  int barrier_line;   // of the last one
  bool predicate;     // of __syncthreads_or and its like
  WarpKind kind;      // of the operation of the warp
  int line;
  unsigned mask;  // its lanes
  int source;     // the lane whose value is wanted
  unsigned long long value, result;
};

struct Place {
  uint3 block;
  dim3 block_dim, grid_dim;
  char* dynamic_shared;
  char* scratch;
  Fiber* fibers;
  Fiber* current;
  unsigned count;  // threads of the block
  unsigned votes;  // of the last barrier: how many predicates held
  Stack scheduler;
  const void* call;  // the kernel with its arguments
  void (*invoke)(const void* call);
  unsigned long long random;  // state of the order
  const char* trapped;        // why a thread gave up; nullptr
  SimOutcome outcome;
};
static thread_local Place place;

inline void yield() { switch_stack(place.current->stack, place.scheduler); }

[[noreturn]] inline void trap(const char* why, SimOutcome outcome = kSimTrapped) {
  place.trapped = why;
  place.outcome = outcome;
  place.current->state = State::ended;
  yield();
  __builtin_unreachable();
}

/// What a fiber runs.
inline void body() {
  place.invoke(place.call);
  place.current->state = State::ended;
  yield();
  __builtin_unreachable();
}

__attribute__((noinline)) inline void wait_for_block(bool predicate, int line) {
  Fiber& self = *place.current;
  self.state = State::at_block_barrier;
  self.predicate = predicate;
  self.barrier_line = line;
  ++self.barriers;
  yield();
}

/// Bytes of scratch memory for a block.
inline size_t scratch_bytes(unsigned threads) { return threads * (kStackBytes + sizeof(Fiber)); }

inline void start_fibers() {
  const dim3& dim = place.block_dim;
  place.count = dim.x * dim.y * dim.z;
  char* const stacks = place.scratch;
  place.fibers = reinterpret_cast<Fiber*>(stacks + kStackBytes * place.count);
  for (unsigned i = 0; i < place.count; ++i) {
    Fiber& fiber = place.fibers[i];
    prepare_stack(fiber.stack, stacks + kStackBytes * i, &body);
    fiber.state = State::ready;
    fiber.thread = {i % dim.x, i / dim.x % dim.y, i / (dim.x * dim.y)};
    fiber.index = i;
    fiber.barriers = 0;
    fiber.barrier_line = 0;
  }
}

/// Completes the operations of a warp whose lanes have all arrived; true if there was one.
bool advance_warp(Fiber* lanes, unsigned count, const char** problem);

/// Runs the ready fibers of one warp until none is.
inline bool run_warp(Fiber* lanes, unsigned count, const char** problem) {
  bool ran = false;
  do {
    Order order(count, place.random);
    for (unsigned i = 0; i < count; ++i) {
      Fiber& lane = lanes[order.next()];
      if (lane.state != State::ready) continue;
      place.current = &lane;
      switch_stack(place.scheduler, lane.stack);
      ran = true;
      if (place.trapped) return true;
    }
  } while (advance_warp(lanes, count, problem) && !*problem);
  return ran;
}

/// Lets the block pass a barrier that every thread has reached; says what is wrong if that cannot
/// be.
inline void advance_block(bool* is_done, const char** problem) {
  const Fiber& first = place.fibers[0];
  unsigned ended = 0;
  place.votes = 0;
  for (unsigned i = 0; i < place.count; ++i) {
    const Fiber& fiber = place.fibers[i];
    ended += fiber.state == State::ended;
    place.votes += fiber.state == State::at_block_barrier && fiber.predicate;
    if (fiber.state == State::at_warp_barrier) *problem = "divergent warp operation";
    const bool differs =
        fiber.barriers != first.barriers || fiber.barrier_line != first.barrier_line;
    if (!*problem && differs) *problem = "divergent barrier";
  }
  *is_done = ended == place.count;
  if (*is_done && !*problem) return;
  if (ended != 0 && !*problem) *problem = "divergent barrier";
  if (*problem) return;
  for (unsigned i = 0; i < place.count; ++i) place.fibers[i].state = State::ready;
}

inline SimOutcome run_fibers(const char** message) {
  start_fibers();
  place.trapped = nullptr;
  const char* problem = nullptr;
  for (bool is_done = false; !is_done && !problem;) {
    const unsigned warps = (place.count + kWarp - 1) / kWarp;
    Order order(warps, place.random);
    for (unsigned i = 0; i < warps && !problem; ++i) {
      const unsigned begin = unsigned(order.next()) * kWarp;
      const unsigned count = place.count - begin < kWarp ? place.count - begin : kWarp;
      run_warp(place.fibers + begin, count, &problem);
      if (place.trapped) {
        *message = place.trapped;
        return place.outcome;
      }
    }
    if (!problem) advance_block(&is_done, &problem);
  }
  *message = problem;
  return problem ? kSimDivergentBarrier : kSimFinished;
}

template <typename Call>
SimOutcome run_block(const Call& call, const char** message) {
  place.call = &call;
  place.invoke = [](const void* it) { (*static_cast<const Call*>(it))(); };
  return run_fibers(message);
}

}  // namespace sim

#define threadIdx (sim::place.current->thread)
#define blockIdx (sim::place.block)
#define blockDim (sim::place.block_dim)
#define gridDim (sim::place.grid_dim)

#endif
