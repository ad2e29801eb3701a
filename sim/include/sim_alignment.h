// Accesses to addresses that are no multiple of their width: an error on a device. The compiler
// checks each access (-fsanitize=alignment) and calls this where one is not.
#ifndef SIM_ALIGNMENT_H_
#define SIM_ALIGNMENT_H_

namespace sim {

[[noreturn]] inline void misaligned() { trap("misaligned address", kSimMisaligned); }

/// For accesses that the compiler does not check.
template <typename T>
inline void require_aligned(const T* address) {
  if (reinterpret_cast<unsigned long long>(address) % sizeof(T) != 0) misaligned();
}

}  // namespace sim

extern "C" {
__attribute__((used, noinline, visibility("hidden"))) void __ubsan_handle_type_mismatch_v1(
    void* /*access*/, unsigned long /*pointer*/) {
  sim::misaligned();
}
}

#endif
