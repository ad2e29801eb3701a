#include "vm/pool/runner.h"

#include <pthread.h>

#include <thread>

namespace ofl::vm {

void pause_briefly() {
  for (int i = 0; i < 16; ++i) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    std::this_thread::yield();
#endif
  }
}

thread_local bool Runner::is_one_ = false;

void Runner::begin_thread(const std::string& name) {
  is_one_ = true;
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

}  // namespace ofl::vm
