// Barriers, shuffles and votes. An operation of a warp is complete when all lanes of its mask that
// exist have arrived at it; what is read from a lane that takes no part is poison.
#ifndef SIM_WARP_H_
#define SIM_WARP_H_

namespace sim {

constexpr unsigned long long kPoison = 0xCDCDCDCDCDCDCDCDull;
constexpr unsigned kFullMask = 0xffffffffu;

inline unsigned lane() { return place.current->index % kWarp; }

__attribute__((noinline)) inline unsigned long long warp_operation(WarpKind kind, unsigned mask,
                                                                   unsigned long long value,
                                                                   int source, int line) {
  Fiber& self = *place.current;
  if (!(mask >> lane() & 1)) trap("a lane that is not in the mask of its warp operation");
  self.state = State::at_warp_barrier;
  self.kind = kind;
  self.mask = mask;
  self.value = value;
  self.source = source;
  self.line = line;
  yield();
  return self.result;
}

/// What each lane of a complete operation gets.
inline unsigned long long warp_result(const Fiber& fiber, const Fiber* lanes, unsigned present) {
  switch (fiber.kind) {
    case WarpKind::barrier: return 0;
    case WarpKind::shuffle: {
      const bool takes_part = fiber.source >= 0 && (present >> fiber.source & 1);
      return takes_part ? lanes[fiber.source].value : kPoison;
    }
    case WarpKind::vote:
    case WarpKind::match: break;
  }
  unsigned long long result = 0;
  for (unsigned i = 0; i < kWarp; ++i) {
    if (!(present >> i & 1)) continue;
    const bool holds =
        fiber.kind == WarpKind::vote ? lanes[i].value != 0 : lanes[i].value == fiber.value;
    result |= (unsigned long long)holds << i;
  }
  return result;
}

inline bool advance_warp(Fiber* lanes, unsigned count, const char** problem) {
  bool advanced = false;
  for (unsigned i = 0; i < count; ++i) {
    const Fiber& leader = lanes[i];
    if (leader.state != State::at_warp_barrier) continue;
    const unsigned exist = count == kWarp ? kFullMask : (1u << count) - 1;
    const unsigned present = leader.mask & exist;
    bool is_complete = true;
    for (unsigned j = 0; j < count && is_complete; ++j) {
      if (!(present >> j & 1)) continue;
      if (lanes[j].state == State::ended) *problem = "a lane of a warp operation has ended";
      is_complete = lanes[j].state == State::at_warp_barrier && lanes[j].mask == leader.mask &&
                    lanes[j].kind == leader.kind && lanes[j].line == leader.line;
    }
    if (!is_complete) continue;
    advanced = true;
    for (unsigned j = 0; j < count; ++j) {
      if (present >> j & 1) lanes[j].result = warp_result(lanes[j], lanes, present);
    }
    for (unsigned j = 0; j < count; ++j) {
      if (present >> j & 1) lanes[j].state = State::ready;
    }
  }
  return advanced;
}

template <typename T>
T shuffle(unsigned mask, T value, int source, int line) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  bits = warp_operation(WarpKind::shuffle, mask, bits, source, line);
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace sim

inline void __syncthreads(int line = __builtin_LINE()) { sim::wait_for_block(false, line); }
inline int __syncthreads_count(int predicate, int line = __builtin_LINE()) {
  sim::wait_for_block(predicate != 0, line);
  return int(sim::place.votes);
}
inline int __syncthreads_or(int predicate, int line = __builtin_LINE()) {
  return __syncthreads_count(predicate, line) != 0;
}
inline int __syncthreads_and(int predicate, int line = __builtin_LINE()) {
  return __syncthreads_count(predicate, line) == int(sim::place.count);
}
inline void __syncwarp(unsigned mask = sim::kFullMask, int line = __builtin_LINE()) {
  sim::warp_operation(sim::WarpKind::barrier, mask, 0, 0, line);
}

template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, int line = __builtin_LINE()) {
  const int lane = int(sim::lane());
  return sim::shuffle(mask, value, (lane & ~(width - 1)) | (source & (width - 1)), line);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 int line = __builtin_LINE()) {
  const int lane = int(sim::lane());
  const int source = lane - int(delta);
  return sim::shuffle(mask, value, source >= (lane & ~(width - 1)) ? source : lane, line);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   int line = __builtin_LINE()) {
  const int lane = int(sim::lane());
  const int source = lane + int(delta);
  return sim::shuffle(mask, value, source <= (lane | (width - 1)) ? source : lane, line);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, int line = __builtin_LINE()) {
  const int lane = int(sim::lane());
  const int source = lane ^ lanes;
  return sim::shuffle(mask, value, source <= (lane | (width - 1)) ? source : lane, line);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return unsigned(sim::warp_operation(sim::WarpKind::vote, mask, predicate != 0, 0, line));
}
inline int __any_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return __ballot_sync(mask, predicate, line) != 0;
}
inline int __all_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  return __ballot_sync(mask, !predicate, line) == 0;
}
template <typename T>
unsigned __match_any_sync(unsigned mask, T value, int line = __builtin_LINE()) {
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  return unsigned(sim::warp_operation(sim::WarpKind::match, mask, bits, 0, line));
}

#endif
