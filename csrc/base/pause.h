// A pause of a thread that looks again and again.
#pragma once

#if !defined(__x86_64__)
#include <thread>
#endif

namespace ofl {

/// About 0.5 us between two looks: each look takes the cache line of the thread that writes away.
inline void pause_briefly() {
  for (int i = 0; i < 16; ++i) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    std::this_thread::yield();
#endif
  }
}

}  // namespace ofl
