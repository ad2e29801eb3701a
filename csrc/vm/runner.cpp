#include "vm/runner.h"

#include <pthread.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

namespace ofl::vm {

thread_local std::string Runner::thread_name_;

void Runner::begin_thread(const std::string& name) {
  thread_name_ = name;
#if defined(__linux__)
  prctl(PR_SET_TIMERSLACK, 1);  // naps end on time: by default Linux adds up to 50 us
#endif
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

}  // namespace ofl::vm
