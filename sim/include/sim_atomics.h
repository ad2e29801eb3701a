// Atomic functions on global and shared memory; relaxed, as on the device.
#ifndef SIM_ATOMICS_H_
#define SIM_ATOMICS_H_

namespace sim {

/// Replaces *address by f(*address); returns what was there.
template <typename T, typename Function>
inline T update(T* address, const Function& f) {
  T seen;
  require_aligned(address);
  __atomic_load(address, &seen, __ATOMIC_RELAXED);
  for (;;) {
    T next = f(seen);
    if (__atomic_compare_exchange(address, &seen, &next, false, __ATOMIC_RELAXED,
                                  __ATOMIC_RELAXED)) {
      return seen;
    }
  }
}

}  // namespace sim

#define SIM_ATOMIC(name, type, expression)                                          \
  inline type name(type* address, type value) {                                     \
    return sim::update(address, [value](type seen) -> type { return expression; }); \
  }
#define SIM_ATOMIC_INTEGERS(name, expression) \
  SIM_ATOMIC(name, int, expression)           \
  SIM_ATOMIC(name, unsigned, expression)      \
  SIM_ATOMIC(name, long long, expression)     \
  SIM_ATOMIC(name, unsigned long long, expression)

SIM_ATOMIC(atomicAdd, int, int(unsigned(seen) + unsigned(value)))
SIM_ATOMIC(atomicAdd, unsigned, seen + value)
SIM_ATOMIC(atomicAdd, unsigned long long, seen + value)
SIM_ATOMIC(atomicAdd, float, seen + value)
SIM_ATOMIC(atomicAdd, double, seen + value)
SIM_ATOMIC(atomicSub, int, int(unsigned(seen) - unsigned(value)))
SIM_ATOMIC(atomicSub, unsigned, seen - value)
SIM_ATOMIC_INTEGERS(atomicMin, seen < value ? seen : value)
SIM_ATOMIC_INTEGERS(atomicMax, seen > value ? seen : value)
SIM_ATOMIC_INTEGERS(atomicAnd, seen& value)
SIM_ATOMIC_INTEGERS(atomicOr, seen | value)
SIM_ATOMIC_INTEGERS(atomicXor, seen ^ value)
SIM_ATOMIC(atomicExch, int, (void(seen), value))
SIM_ATOMIC(atomicExch, unsigned, (void(seen), value))
SIM_ATOMIC(atomicExch, unsigned long long, (void(seen), value))
SIM_ATOMIC(atomicExch, float, (void(seen), value))
SIM_ATOMIC(atomicInc, unsigned, seen >= value ? 0 : seen + 1)
SIM_ATOMIC(atomicDec, unsigned, seen == 0 || seen > value ? value : seen - 1)
#undef SIM_ATOMIC_INTEGERS
#undef SIM_ATOMIC

#define SIM_ATOMIC_CAS(type)                                                       \
  inline type atomicCAS(type* address, type expected, type value) {                \
    sim::require_aligned(address);                                                 \
    __atomic_compare_exchange(address, &expected, &value, false, __ATOMIC_RELAXED, \
                              __ATOMIC_RELAXED);                                   \
    return expected;                                                               \
  }
SIM_ATOMIC_CAS(unsigned short)
SIM_ATOMIC_CAS(int)
SIM_ATOMIC_CAS(unsigned)
SIM_ATOMIC_CAS(unsigned long long)
#undef SIM_ATOMIC_CAS

inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

#endif
